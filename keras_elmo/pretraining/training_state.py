"""The checkpoint of a training: all that resuming needs, in one file."""

import dataclasses
import json
import os

import numpy as np
from keras import ops

from keras_elmo.files.atomic import write_atomically
from keras_elmo.files.hdf5_files import create_hdf5
from keras_elmo.files.hdf5_files import open_hdf5

# Not restored, as a resumed training may have another.
_NOT_RESTORED = "learning_rate"


@dataclasses.dataclass
class Progress:
    """The progress of a training: all of a checkpoint except arrays."""

    step: int = 0
    """The number of steps done"""
    positions: list | None = None
    """The positions of both token streams; `None` for the start"""
    log_size: int = 0
    """Size of the log in bytes"""
    losses: list[float] = dataclasses.field(default_factory=list)
    """Losses of the steps since the log was last written"""
    best: float | None = None
    """The lowest perplexity on the held-out text"""
    heldout: str | None = None
    """A digest of that text"""
    evaluations_since_best: int = 0


def write_training_state(path, model, optimizer, lstm_state, progress):
    """Writes a checkpoint atomically.

    After an error, an existing file is unchanged.

    Args:
        path: Path of the file (HDF5).
        model: The model, whose trainable variables are written.
        optimizer: The optimizer, whose variables are written but for the
            learning rate.
        lstm_state: List of arrays, the initial state of the next window.
        progress: The `Progress`.

    Raises:
        ValueError: If an array has an infinity or a NaN.
        OSError: If the file cannot be written, for example on a full disk.
    """
    arrays = {
        key: ops.convert_to_numpy(variable)
        for key, variable in _variables(model, optimizer).items()
    }
    for i, array in enumerate(lstm_state):
        arrays[f"lstm_state/{i}"] = array
    for key, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(
                "A checkpoint must hold finite numbers. Received: an infinity "
                f"or a NaN in '{key}'"
            )

    def write(temporary):
        with create_hdf5(temporary) as (store, check):
            # An attribute might be too small for it.
            store["progress"] = json.dumps(dataclasses.asdict(progress))
            for key, array in arrays.items():
                store.create_dataset(key, data=array)
                check()

    write_atomically(path, write)


def read_training_state(path, model, optimizer):
    """Reads a checkpoint back into a model and its optimizer.

    Args:
        path: Path of the file.
        model: Built model of the same shapes.
        optimizer: Built optimizer of the same kind.

    Returns:
        The LSTM state, a list of arrays, and the `Progress`.

    Raises:
        ValueError: If the file is corrupt or for another model.
    """
    path = os.fspath(path)
    try:
        with open_hdf5(path) as (store, _):
            variables = _variables(model, optimizer)
            values = {key: store[key][()] for key in variables}
            state = store["lstm_state"]
            lstm_state = [state[str(i)][()] for i in range(len(state))]
            progress = Progress(**json.loads(store["progress"][()]))
    except Exception as error:
        # What h5py raises depends on where the file is corrupt.
        raise ValueError(
            f"'{path}' cannot be read as a checkpoint of this training: {error}"
        ) from error
    for key, variable in variables.items():
        if tuple(variable.shape) != values[key].shape:
            raise ValueError(
                f"'{key}' of the checkpoint '{path}' must have the shape "
                f"{tuple(variable.shape)}. Received: {values[key].shape}"
            )
    for key, variable in variables.items():
        variable.assign(values[key])
    return lstm_state, progress


def _variables(model, optimizer):
    """Maps keys to variables, in a fixed order."""
    kept = [v for v in optimizer.variables if v.name != _NOT_RESTORED]
    # The model's name has a number that depends on the process.
    prefix = f"{model.name}_"
    return {
        f"{kind}/{i}_{variable.name.removeprefix(prefix)}": variable
        for kind, variables in (
            ("model", model.trainable_variables),
            ("optimizer", kept),
        )
        for i, variable in enumerate(variables)
    }
