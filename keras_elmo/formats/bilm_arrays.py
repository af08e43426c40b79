"""The weight file of a biLM: named arrays in HDF5."""

import os
import re

import h5py
import numpy as np

from keras_elmo.formats.atomic import write_atomically

# What h5py raises on files of another kind, cut or damaged.
_HDF5_ERRORS = (
    OSError,
    RuntimeError,
    KeyError,
    TypeError,
    OverflowError,
    UnicodeDecodeError,
)


def read_arrays(file, shapes, label=None):
    """Reads a weight file, which must hold just the arrays expected.

    Args:
        file: Path, or file object open for reading.
        shapes: Dictionary from key to the shape expected.
        label: What messages call the file. Defaults to its path.

    Returns:
        Dictionary from key to array.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it cannot be read as HDF5, or an array is missing, left
            over, or of another shape than expected.
    """
    label = label or os.fspath(file)
    if isinstance(file, (str, os.PathLike)) and not os.path.isfile(file):
        raise FileNotFoundError(f"There is no weight file '{label}'.")
    try:
        with h5py.File(file, "r") as store:
            found = _datasets(store)
            datasets = {_canonical(key): data for key, data in found}
            _check_keys(set(datasets), set(shapes), label)
            if len(datasets) < len(found):
                raise ValueError(
                    f"The weight file '{label}' names an array twice, with and "
                    "without 'Cell0'. Expected each once. "
                    f"Received: {sorted(key for key, _ in found)}"
                )
            return {
                key: _read(datasets[key], key, shape, label)
                for key, shape in shapes.items()
            }
    except _HDF5_ERRORS as error:
        raise ValueError(
            f"The weight file '{label}' cannot be read as HDF5; it may be "
            f"truncated or of another kind. h5py says: {error}"
        ) from error


def write_arrays(path, arrays):
    """Writes a dictionary from key to array, whole or not at all."""

    def write(temporary):
        with h5py.File(temporary, "w") as store:
            for key, array in arrays.items():
                store.create_dataset(key, data=array)

    write_atomically(path, write)


def _datasets(store):
    found = []

    def visit(key, item):
        if isinstance(item, h5py.Dataset):
            found.append((key, item))

    store.visititems(visit)
    return found


def _canonical(key):
    # The dump of a one-layer model leaves out the cell's number.
    return re.sub(
        r"^(RNN_\d)/RNN/LSTMCell/", r"\1/RNN/MultiRNNCell/Cell0/LSTMCell/", key
    )


def _check_keys(found, expected, label):
    if found == expected:
        return
    missing, unread = sorted(expected - found), sorted(found - expected)
    raise ValueError(
        f"The weight file '{label}' does not fit its options. "
        f"Expected arrays that it lacks: {missing or 'none'}. "
        f"Received arrays with no place in the model: {unread or 'none'}."
    )


def _read(dataset, key, shape, label):
    if dataset.shape != tuple(shape):
        raise ValueError(
            f"The array '{key}' of the weight file '{label}' must have the "
            f"shape {tuple(shape)} by the options. Received: {dataset.shape}"
        )
    if dataset.dtype.kind != "f":
        raise ValueError(
            f"The array '{key}' of the weight file '{label}' must hold "
            f"floating-point numbers. Received: dtype={dataset.dtype}"
        )
    array = np.asarray(dataset)
    if not np.isfinite(array).all():
        raise ValueError(
            f"The array '{key}' of the weight file '{label}' must hold finite "
            "numbers. Received: an infinity or a NaN"
        )
    return array
