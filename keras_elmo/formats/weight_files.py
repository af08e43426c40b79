"""The weight file of a biLM: named arrays in HDF5."""

import os
import re

import numpy as np

from keras_elmo.checks import check_choice
from keras_elmo.files.atomic import write_atomically
from keras_elmo.files.hdf5_files import create_hdf5
from keras_elmo.files.hdf5_files import open_hdf5
from keras_elmo.formats.array_tables import checked_arrays
from keras_elmo.formats.array_tables import naming_file
from keras_elmo.formats.bilm_names import SOFTMAX


class WeightFile:
    """The weight file of a biLM, and the softmax that may be beside it.

    Args:
        folder: The `ModelFolder` that contains it.
        name: Its name.
    """

    def __init__(self, folder, name):
        self._folder = folder
        self._name = name

    @property
    def files(self):
        """The file's path, in a list."""
        return [self._folder.file(self._name)]

    def read(self, shapes, name=None):
        """Reads its arrays, or those of another file, as `read_arrays` does."""
        name = name or self._name
        file = self._folder.file(name)
        return read_arrays(file, shapes, self._folder.label(name))

    def read_softmax(self, shapes):
        """Reads the softmax's arrays; `None` if there is none."""
        return self.read(shapes, SOFTMAX) if SOFTMAX in self._folder else None


def read_arrays(path, shapes, label=None):
    """Reads a weight file, which must have exactly the expected arrays.

    Args:
        path: Path of the file.
        shapes: Dictionary from key to expected shape. A size of `None` matches
            any.
        label: The file's name in messages. Defaults to its path.

    Returns:
        Dictionary from key to array.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it cannot be read as HDF5 or has data stored elsewhere,
            or an array is missing, unexpected or of the wrong shape.
    """
    subject = f"weight file '{label or os.fspath(path)}'"
    if not os.path.exists(path):
        raise FileNotFoundError(f"There is no {subject}.")
    with naming_file(subject), open_hdf5(path) as (store, stored):
        found = {_canonical(key, stored): store[key] for key in stored}
        return checked_arrays(found, shapes, subject)


def write_arrays(path, arrays, dtype=None, overwrite=True):
    """Writes named arrays, atomically.

    Args:
        path: Path of the file.
        arrays: Iterable of pairs of a key and an array. Only one array at a
            time is in memory if it is a generator.
        dtype: `"float32"`, `"float16"`, or `None` for each array's dtype.

    Raises:
        ValueError: If the dtype is not one of these, or a number is too large
            for it.
    """
    check_choice("output_dtype", dtype, (None, "float32", "float16"))

    def write(temporary):
        with create_hdf5(temporary) as (store, check):
            for key, array in arrays:
                data = array if dtype is None else _cast(array, key, dtype)
                store.create_dataset(key, data=data)
                check()

    write_atomically(path, write, overwrite)


def _cast(array, key, dtype):
    with np.errstate(over="ignore"):
        cast = np.asarray(array).astype(dtype)
    if np.isinf(cast).any() and np.isfinite(array).all():
        raise ValueError(
            f"The array '{key}' has numbers that {dtype} cannot represent. "
            f"Received: numbers up to {np.abs(array).max()}"
        )
    return cast


def _canonical(key, keys):
    # The dump of a one-layer model omits the cell's number.
    name = re.sub(
        r"^(RNN_\d)/RNN/LSTMCell/", r"\1/RNN/MultiRNNCell/Cell0/LSTMCell/", key
    )
    return key if name in keys else name
