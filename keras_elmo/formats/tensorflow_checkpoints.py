"""bilm-tf's training checkpoints (TensorFlow 1), by the weight file's keys."""

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
    """Whether files of these names are a checkpoint's."""
    return any(n == "checkpoint" or n.endswith(".index") for n in names)


def find_checkpoint(folder, label=None, may_lie_elsewhere=True):
    """Returns the path, without an ending, of a folder's latest checkpoint.

    Args:
        folder: Path of the folder.
        label: What messages call it. Defaults to its path.
        may_lie_elsewhere: Boolean, whether the folder's file `checkpoint` may
            name a checkpoint in another folder.

    Raises:
        FileNotFoundError: If the folder's file `checkpoint` names a checkpoint
            that is not there, or there is none such and not one `.index` file.
    """
    label = label or folder
    named = _named_path(folder)
    if named is not None:
        # The folder may have moved since its path was written down.
        beside = os.path.join(folder, os.path.basename(named))
        for path in (beside, named) if may_lie_elsewhere else (beside,):
            if os.path.isfile(f"{path}.index"):
                return path
        raise FileNotFoundError(
            f"'{label}' must hold the checkpoint that its file 'checkpoint' "
            f"names. Received: no '{os.path.basename(named)}.index'"
        )
    found = sorted(n for n in os.listdir(folder) if n.endswith(".index"))
    if len(found) != 1:
        raise FileNotFoundError(
            f"'{label}' must hold a file 'checkpoint' that names a checkpoint, "
            f"or only one '.index' file. Received: {found}"
        )
    return os.path.join(folder, found[0].removesuffix(".index"))


def read_checkpoint(path, shapes, label=None):
    """Reads a model's arrays, other than its softmax, from a checkpoint.

    Args:
        path: Path of the checkpoint, as `find_checkpoint` returns it.
        shapes: Dictionary from weight file key to the shape expected.
        label: What messages call the checkpoint. Defaults to its path.

    Returns:
        Dictionary from key to array.

    Raises:
        ValueError: If it cannot be read, or an array is missing, left over, or
            of another shape than expected.
    """
    stored = _Checkpoint(path, label)
    keys = {k for k in stored.keys if not k.startswith("softmax/")}
    return stored.read(keys, shapes)


def read_checkpoint_softmax(path, shapes, label=None):
    """As `read_checkpoint`, of the softmax; `None` if there is none."""
    stored = _Checkpoint(path, label)
    keys = {k for k in stored.keys if k.startswith("softmax/")}
    return stored.read(keys, shapes) if keys else None


class _Checkpoint:
    def __init__(self, path, label):
        import tensorflow as tf

        self.subject = f"checkpoint '{label or path}'"
        self._reader = self._attempt(lambda: tf.train.load_checkpoint(path))
        names = self._reader.get_variable_to_shape_map()
        self.keys = {_key(n): n for n in names if _is_model_variable(n, names)}

    def read(self, keys, shapes):
        check_keys(keys, set(shapes), self.subject)
        return {
            key: checked_array(
                self._attempt(
                    lambda key=key: self._reader.get_tensor(self.keys[key])
                ),
                key,
                shape,
                self.subject,
            )
            for key, shape in shapes.items()
        }

    def _attempt(self, read):
        try:
            return read()
        except Exception as error:
            # What is raised depends on where it is damaged.
            raise ValueError(
                f"The {self.subject} cannot be read; it may be truncated or "
                f"damaged. TensorFlow says: {error}"
            ) from error


def _named_path(folder):
    """The path in the folder's file `checkpoint`, or `None`."""
    import tensorflow as tf

    try:
        state = tf.train.get_checkpoint_state(folder)
    except ValueError:  # Empty, or no text.
        return None
    return state.model_checkpoint_path if state else None


def _is_model_variable(name, names):
    # An optimizer's slots lie, as in a folder, below the variable they are of.
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
