"""The checkpoint of a training: all that resuming needs, in one file."""

import dataclasses
import json

from keras import ops

from keras_elmo.checks import argument_name
from keras_elmo.files.atomic import write_atomically
from keras_elmo.files.hdf5_files import create_hdf5
from keras_elmo.files.hdf5_files import open_hdf5


@dataclasses.dataclass
class TrainingProgress:
    """The progress of a training: all of a checkpoint except arrays."""

    step: int = 0
    """The number of steps done"""
    log_size: int = 0
    """Size of the log in bytes"""
    losses: list[float] = dataclasses.field(default_factory=list)
    """Losses of the steps since the log was last written"""
    best: float | None = None
    """The lowest perplexity on the held-out text"""
    best_step: int | None = None
    """After which step it was measured"""
    evaluations_since_best: int = 0


def write_training_state(path, model, progress):
    """Writes a checkpoint atomically.

    After an error, an existing file is unchanged.

    Args:
        path: Path of the file (HDF5).
        model: The compiled `LanguageModelTrainer`. Its variables are written,
            and those of its optimizer but for the learning rate.
        progress: The `TrainingProgress`. All values must be finite.

    Raises:
        OSError: If the file cannot be written, for example on a full disk.
    """

    def write(temporary):
        with create_hdf5(temporary) as (store, check):
            # An attribute might be too small for it.
            store["progress"] = json.dumps(dataclasses.asdict(progress))
            for key, variable in state_variables(model).items():
                if variable.dtype == "bfloat16":  # HDF5 has none.
                    variable = ops.cast(variable, "float32")
                store.create_dataset(key, data=ops.convert_to_numpy(variable))
                check()

    write_atomically(path, write)


def read_training_state(path, model):
    """Reads a checkpoint back into a model and its optimizer.

    Args:
        path: Path of the file.
        model: The compiled `LanguageModelTrainer`, with the same shapes and a
            built optimizer of the same kind.

    Returns:
        The `TrainingProgress`.

    Raises:
        ValueError: If the file is corrupt or for another model.
    """
    variables = state_variables(model)
    try:
        with open_hdf5(path) as (store, shapes):
            values = {key: store[key][()] for key in shapes}
        progress = TrainingProgress(**json.loads(values.pop("progress")))
    except Exception as error:
        # What h5py raises depends on where the file is corrupt.
        raise ValueError(
            f"'{path}' cannot be read as a checkpoint of this training: "
            f"{error}. To start over, pass {argument_name('restart', True)}"
        ) from error
    for key in variables.keys() | values.keys():
        expected = getattr(variables.get(key), "shape", None)
        found = getattr(values.get(key), "shape", None)
        if found is None or expected is None or found != tuple(expected):
            raise ValueError(
                f"'{key}' of the checkpoint '{path}' must have the shape "
                f"{expected}. Received: {found}. A resumed training must have "
                "the same model, optimizer, rows and number of devices"
            )
    for key, variable in variables.items():
        variable.assign(values[key])
    return progress


def state_variables(model):
    """Returns the variables to be saved by key, in a fixed order."""
    optimizer = model.optimizer.variables
    groups = {
        "model": model.trainable_variables,
        "state": model.non_trainable_variables,
        # A resumed training may have another learning rate.
        "optimizer": [v for v in optimizer if v.name != "learning_rate"],
    }
    # By number, as names have a part that depends on the process.
    return {
        f"{group}/{i}": variable
        for group, variables in groups.items()
        for i, variable in enumerate(variables)
    }
