"""Reads bilm-tf's training checkpoints (TensorFlow 1)."""

import os
import re

from keras_elmo.formats.array_checks import check_keys
from keras_elmo.formats.array_checks import checked_array

_SCOPE = "lm/"
_LSTM = re.compile(
    r"(RNN_\d)/rnn/(?:multi_rnn_cell/cell_(\d+)/)?lstm_cell/"
    r"(kernel|bias|projection/kernel)"
)
_LSTM_KEYS = {"kernel": "W_0", "bias": "B", "projection/kernel": "W_P_0"}


def holds_checkpoint(names):
    """Whether files with these names include a checkpoint."""
    return any(n == "checkpoint" or n.endswith(".index") for n in names)


def find_checkpoint(folder, label=None, may_lie_elsewhere=True):
    """Returns the path prefix of a folder's latest checkpoint.

    Args:
        folder: Path of the folder.
        label: The folder's name in messages. Defaults to its path.
        may_lie_elsewhere: Boolean, whether the folder's file `checkpoint` may
            name a checkpoint in another folder.

    Raises:
        FileNotFoundError: If the folder's file `checkpoint` names a checkpoint
            that does not exist; or if there is no such file, and not exactly
            one `.index` file.
    """
    label = label or folder
    named = _named_path(folder)
    if named is not None:
        # The folder may have been moved since the path was written.
        beside = os.path.join(folder, os.path.basename(named))
        for path in (beside, named) if may_lie_elsewhere else (beside,):
            if os.path.isfile(f"{path}.index"):
                return path
        raise FileNotFoundError(
            f"'{label}' must contain the checkpoint that its file 'checkpoint' "
            f"names. Received: no '{os.path.basename(named)}.index'"
        )
    found = sorted(n for n in os.listdir(folder) if n.endswith(".index"))
    if len(found) != 1:
        raise FileNotFoundError(
            f"'{label}' must contain a file 'checkpoint' that names a "
            f"checkpoint, or exactly one '.index' file. Received: {found}"
        )
    return os.path.join(folder, found[0].removesuffix(".index"))


def open_checkpoint(folder):
    """Returns the `Checkpoint` that `find_checkpoint` finds in a folder."""
    parts = [n for n in folder.names if n == "checkpoint" or _is_part(n)]
    # A zip must not refer to other files on this machine.
    path = find_checkpoint(
        folder.folder(parts),
        folder.path,
        may_lie_elsewhere=not folder.is_zipped,
    )
    return Checkpoint(path, folder.label(os.path.basename(path)))


def _is_part(name):
    return name.endswith(".index") or ".data-0" in name


class Checkpoint:
    """A checkpoint's arrays, by the keys of a weight file.

    Args:
        path: Path of the checkpoint, as `find_checkpoint` returns it.
        label: The checkpoint's name in messages. Defaults to its path.
    """

    def __init__(self, path, label=None):
        self._path = path
        self._subject = f"checkpoint '{label or path}'"

    @property
    def files(self):
        """The paths of its files."""
        folder, name = os.path.split(self._path)
        return [
            os.path.join(folder, found)
            for found in sorted(os.listdir(folder or "."))
            if found == f"{name}.index" or found.startswith(f"{name}.data-")
        ]

    def read(self, shapes, unread=()):
        """Reads the model's arrays, except for its softmax.

        Args:
            shapes: Dictionary from keys to expected shapes.
            unread: Keys of arrays that may exist and are not read.

        Returns:
            Dictionary from key to array.

        Raises:
            ValueError: If it cannot be read, or an array is missing, unexpected
                or of the wrong shape.
        """
        reader, names = self._open()
        names = {
            key: name
            for key, name in names.items()
            if not key.startswith("softmax/") and key not in unread
        }
        return self._read(reader, names, shapes)

    def read_softmax(self, shapes):
        """Reads the softmax's arrays as `read` does; `None` without one."""
        reader, names = self._open()
        names = {k: n for k, n in names.items() if k.startswith("softmax/")}
        return self._read(reader, names, shapes) if names else None

    def _open(self):
        """Returns the reader, and a dictionary from keys to variable names."""
        import tensorflow as tf

        reader = self._attempt(lambda: tf.train.load_checkpoint(self._path))
        names = reader.get_variable_to_shape_map()
        return reader, {
            _key(n): n for n in names if _is_model_variable(n, names)
        }

    def _read(self, reader, names, shapes):
        check_keys(set(names), set(shapes), self._subject)
        return {
            key: checked_array(
                self._attempt(lambda key=key: reader.get_tensor(names[key])),
                key,
                shape,
                self._subject,
            )
            for key, shape in shapes.items()
        }

    def _attempt(self, read):
        try:
            return read()
        except Exception as error:
            # What is raised depends on where the file is corrupt.
            raise ValueError(
                f"The {self._subject} cannot be read; it may be truncated or "
                f"corrupt. TensorFlow's error was: {error}"
            ) from error


def _named_path(folder):
    """Returns the path in the folder's file `checkpoint`, or `None`."""
    import tensorflow as tf

    try:
        state = tf.train.get_checkpoint_state(folder)
    except ValueError:  # Empty, or not text.
        return None
    return state.model_checkpoint_path if state else None


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
