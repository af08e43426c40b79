"""Reads bilm-tf's training checkpoints (TensorFlow 1)."""

import math
import os
import re

import numpy as np

from keras_elmo.formats.array_tables import checked_arrays
from keras_elmo.formats.array_tables import naming_file
from keras_elmo.formats.bilm_names import CHECKPOINT

# There may be a byte order mark before it.
_NAMED = re.compile(rb'^\W*model_checkpoint_path: "(?:.*[/\\])?(.+)"', re.M)
_SCOPE = "lm/"
_LSTM = re.compile(
    r"(RNN_\d)/rnn/(?:multi_rnn_cell/cell_(\d+)/)?lstm_cell/"
    r"(kernel|bias|projection/kernel)"
)
_LSTM_KEYS = {"kernel": "W_0", "bias": "B", "projection/kernel": "W_P_0"}


def open_checkpoint(folder):
    """Returns the `Checkpoint` of a folder.

    It is the one that the file `checkpoint` names, wherever the folder was when
    the name was written; or the only one.

    Args:
        folder: The `ModelFolder`.

    Raises:
        FileNotFoundError: If there is none, or it is not clear which.
    """
    indices = sorted(n for n in folder.names if n.endswith(".index"))
    found = [name.removesuffix(".index") for name in indices]
    expected = f"one '.index' file, or a file '{CHECKPOINT}' that names one"
    named = CHECKPOINT in folder and _NAMED.search(folder.read(CHECKPOINT))
    if named:
        name = named.group(1).decode("utf-8", "backslashreplace")
        expected = f"'{name}.index', which its file '{CHECKPOINT}' names"
        found = [name] if name in found else []
    if len(found) != 1:
        raise FileNotFoundError(
            f"'{folder.path}' must contain {expected}. Received: {indices}"
        )
    (name,) = found
    files = [
        folder.file(part)
        for part in sorted(folder.names)
        if part == f"{name}.index" or part.startswith(f"{name}.data-")
    ]
    return Checkpoint(files, folder.label(name))


class Checkpoint:
    """A checkpoint's arrays, by the keys of a weight file.

    Args:
        files: Paths of its files, the `.index` last.
        label: Its name in messages.
    """

    def __init__(self, files, label):
        self.files = files
        """The paths of its files."""
        self._subject = f"checkpoint '{label}'"

    def read(self, shapes):
        """Reads the model's arrays, except for its softmax.

        Args:
            shapes: Dictionary from keys to expected shapes.

        Returns:
            Dictionary from key to array.

        Raises:
            ValueError: If it cannot be read, or an array is missing, unexpected
                or of the wrong shape.
        """
        return self._read(lambda key: not key.startswith("softmax/"), shapes)

    def read_softmax(self, shapes):
        """Reads the softmax's arrays as `read` does; `None` without one."""
        return self._read(lambda key: key.startswith("softmax/"), shapes, True)

    def _read(self, wants, shapes, is_optional=False):
        with naming_file(self._subject):
            stored = {k: v for k, v in self._stored().items() if wants(k)}
            if is_optional and not stored:
                return None
            return checked_arrays(stored, shapes, self._subject)

    def _stored(self):
        """Returns a dictionary from keys to variables."""
        import tensorflow as tf

        prefix = self.files[-1].removesuffix(".index")
        reader = tf.train.load_checkpoint(prefix)
        shapes = reader.get_variable_to_shape_map()
        dtypes = reader.get_variable_to_dtype_map()
        variables = {
            _key(name): _Variable(reader, name, shape, dtypes[name])
            for name, shape in shapes.items()
            if _is_model_variable(name, shapes)
        }
        declared = sum(variable.size for variable in variables.values())
        size = sum(map(os.path.getsize, self.files))
        if declared > size:  # TensorFlow would allocate it.
            raise ValueError(
                f"its arrays declare {declared:,} bytes, but its files have "
                f"{size:,}"
            )
        return variables


class _Variable:
    """A variable of a checkpoint, which `numpy.asarray` reads."""

    def __init__(self, reader, name, shape, dtype):
        self._read = lambda: reader.get_tensor(name)
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype.as_numpy_dtype)
        self.size = math.prod(shape) * self.dtype.itemsize

    def __array__(self, *args, **kwargs):
        return self._read()


def _is_model_variable(name, names):
    # The name of an optimizer's slot is below that of its variable.
    return name.startswith(_SCOPE) and os.path.dirname(name) not in names


def _key(name):
    name = name.removeprefix(_SCOPE)
    match = _LSTM.fullmatch(name)
    if match is None:
        return name
    direction, cell, part = match.groups()
    # A one-layer model has no MultiRNNCell.
    cell = f"{direction}/RNN/MultiRNNCell/Cell{cell or 0}/LSTMCell"
    return f"{cell}/{_LSTM_KEYS[part]}"
