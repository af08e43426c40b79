"""A training's checkpoint: everything that it goes on from, in one file."""

import json
import os
from typing import Any
from typing import NamedTuple

import numpy as np
from keras import ops

from keras_elmo.files.atomic import write_atomically
from keras_elmo.files.hdf5_files import create_hdf5
from keras_elmo.files.hdf5_files import open_hdf5

# What a new training is given afresh, as it may differ.
_NOT_RESTORED = "learning_rate"


class Progress(NamedTuple):
    """How far a training is."""

    step: int
    """The number of steps made"""
    position: np.ndarray
    """Where both token streams stand"""
    lstm_state: list[np.ndarray]
    notes: dict[str, Any]
    """What else there is, as JSON can hold it"""


def write_training_state(path, model, optimizer, progress):
    """Writes a checkpoint, whole or not at all.

    Args:
        path: Path of the file (HDF5).
        model: The model; all its variables are written.
        optimizer: The optimizer; likewise.
        progress: The `Progress`.

    Raises:
        ValueError: If an array holds an infinity or a NaN. The file that was
            there before stays.
        OSError: If it cannot be written, as on a full disk; likewise.
    """
    arrays = {
        key: ops.convert_to_numpy(variable)
        for key, variable in _variables(model, optimizer).items()
    }
    arrays["position"] = np.asarray(progress.position)
    for i, array in enumerate(progress.lstm_state):
        arrays[f"lstm_state/{i}"] = np.asarray(array)
    for key, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(
                "A checkpoint must hold finite numbers. Received: an infinity "
                f"or a NaN in '{key}'"
            )

    def write(temporary):
        with create_hdf5(temporary) as (store, check):
            store.attrs["step"] = progress.step
            # An attribute could be too small for them.
            store["notes"] = json.dumps(progress.notes)
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
        The `Progress`.

    Raises:
        ValueError: If the file is damaged or of another model.
    """
    path = os.fspath(path)
    try:
        with open_hdf5(path) as (store, _):
            variables = _variables(model, optimizer)
            values = {key: store[key][()] for key in variables}
            state = store["lstm_state"]
            progress = Progress(
                int(store.attrs["step"]),
                store["position"][()],
                [state[str(i)][()] for i in range(len(state))],
                json.loads(store["notes"][()]),
            )
    except Exception as error:
        # What h5py raises depends on where the file is damaged.
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
    return progress


def _variables(model, optimizer):
    """Maps keys to variables, in an order that does not change."""
    kept = [v for v in optimizer.variables if v.name != _NOT_RESTORED]
    # Keras numbers the models of a process in their names.
    prefix = f"{model.name}_"
    return {
        f"{kind}/{i}_{variable.name.removeprefix(prefix)}": variable
        for kind, variables in (
            ("model", model.trainable_variables),
            ("optimizer", kept),
        )
        for i, variable in enumerate(variables)
    }
