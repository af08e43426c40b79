"""A language model's files: in a folder, in a zip, or one by one."""

import contextlib
import os
import posixpath
import tempfile
from collections.abc import Callable
from typing import NamedTuple

from keras_elmo.files.archives import member_names
from keras_elmo.files.archives import open_archive
from keras_elmo.formats.archived_bilm import extract_model
from keras_elmo.formats.bilm_arrays import read_arrays
from keras_elmo.formats.bilm_arrays import write_arrays
from keras_elmo.formats.bilm_files import VOCABULARIES
from keras_elmo.formats.bilm_files import find_options
from keras_elmo.formats.bilm_files import find_weights
from keras_elmo.formats.bilm_files import read_options
from keras_elmo.formats.bilm_options import parse_language_model_options
from keras_elmo.formats.tensorflow_checkpoints import find_checkpoint
from keras_elmo.formats.tensorflow_checkpoints import holds_checkpoint
from keras_elmo.formats.tensorflow_checkpoints import read_checkpoint
from keras_elmo.formats.tensorflow_checkpoints import read_checkpoint_softmax

_W, _B = "softmax/W", "softmax/b"


class LanguageModelFiles(NamedTuple):
    """What a language model's files hold."""

    options: dict
    """The options file's content."""
    read_weights: Callable
    """From a dictionary of shapes to one of float32 arrays, by the same keys:
    the biLM's, as `read_arrays` checks them."""
    read_softmax: Callable
    """From `(vocabulary_size, dim)` to `W` (vocabulary_size, dim) and `b`
    (vocabulary_size,), in float32; or `None`, if the files hold no softmax. A
    `vocabulary_size` of `None` is any. `W` is `None` where the options say
    that it is the embedding of the words."""
    vocabulary: str | None
    """Path of the vocabulary file, or `None`."""
    label: str
    """What to call the model in messages."""


@contextlib.contextmanager
def open_language_model(path, weights=None, label=None):
    """Finds the files of a language model.

    Args:
        path: Path of a directory, or of a `.zip` of one. It holds
            `options.json`, and either a checkpoint of bilm-tf's training, or
            one `.hdf5` file of the name `weights.hdf5`, `model.hdf5` or any
            other. In the second case `softmax.hdf5` may lie beside it, in both
            `vocab.txt` or `vocab.txt.gz`. Where there are both, the checkpoint
            is read, as it has the softmax. With `weights`, the options file.
        weights: Path of the weight file, or `None`.
        label: What to call the model in messages. Defaults to `path`.

    Yields:
        A `LanguageModelFiles`, to be used while the context lasts.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: As `open_bilm`.
    """
    label = label or os.fspath(path)
    if weights is not None:
        yield _from_weights(path, weights, os.path.dirname(weights), label)
    elif os.path.isdir(path):
        yield _from_folder(path, label, label)
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield _from_folder(folder, _extract_model(path, folder), label)


def write_softmax(path, W, b, dtype="float32"):
    """Writes a softmax beside a model's weights, whole or not at all.

    Args:
        path: Path of the file, `softmax.hdf5`.
        W: Array (vocabulary_size, dim), or `None` if it is the embedding of
            the words and not stored twice.
        b: Array (vocabulary_size,).
        dtype: `"float32"`, or `"float16"` for half the size.

    Raises:
        ValueError: If the sizes differ, or as `write_arrays`.
    """
    arrays = {_B: b} if W is None else {_W: W, _B: b}
    _check_rows(arrays, "`W` and `b`")
    write_arrays(path, arrays, dtype)


def _extract_model(path, folder):
    """Extracts the zip's model; returns what to call its folder."""
    with open_archive(path) as archive:
        options = find_options(member_names(archive, path), path)
        root = posixpath.dirname(options)
        extract_model(archive, root, folder, path)
    return posixpath.join(path, root) if root else path


def _from_folder(folder, label, model):
    names = os.listdir(folder)
    options = os.path.join(folder, find_options(names, label))
    if not holds_checkpoint(names):
        weights = os.path.join(folder, find_weights(names, label))
        return _from_weights(options, weights, label, model)
    # What a zip names on this machine is not its own.
    path = find_checkpoint(folder, label, may_lie_elsewhere=folder == label)
    name = os.path.join(label, os.path.basename(path))
    return _files(
        options,
        folder,
        label,
        model,
        lambda shapes: read_checkpoint(path, shapes, name),
        lambda shapes: read_checkpoint_softmax(path, shapes, name),
    )


def _from_weights(options, weights, label, model):
    folder, name = os.path.split(weights)
    softmax = os.path.join(folder, "softmax.hdf5")

    def read_softmax(shapes):
        if not os.path.isfile(softmax):
            return None
        return read_arrays(softmax, shapes, os.path.join(label, "softmax.hdf5"))

    return _files(
        options,
        folder,
        label,
        model,
        lambda shapes: read_arrays(weights, shapes, os.path.join(label, name)),
        read_softmax,
    )


def _files(options, folder, label, model, read_weights, read_softmax):
    options_label = os.path.join(label, "options.json")
    options = read_options(options, options_label)
    parse_language_model_options(options, options_label)
    vocabularies = [os.path.join(folder, name) for name in VOCABULARIES]

    def read_w_and_b(vocabulary_size, dim):
        shapes = {_B: (vocabulary_size,)}
        if not options.get("share_embedding_softmax"):
            shapes[_W] = (vocabulary_size, dim)
        arrays = read_softmax(shapes)
        if arrays is None:
            return None
        arrays = _as_float32(arrays)
        _check_rows(arrays, f"The softmax of '{label}'")
        return arrays.get(_W), arrays[_B]

    return LanguageModelFiles(
        options,
        lambda shapes: _as_float32(read_weights(shapes)),
        read_w_and_b,
        next(filter(os.path.isfile, vocabularies), None),
        model,
    )


def _check_rows(arrays, subject):
    if len({array.shape[0] for array in arrays.values()}) > 1:
        shapes = {key: array.shape for key, array in arrays.items()}
        raise ValueError(
            f"{subject} must have one row and one number for each word. "
            f"Received: shapes {shapes}"
        )


def _as_float32(arrays):
    return {
        k: array.astype("float32", copy=False) for k, array in arrays.items()
    }
