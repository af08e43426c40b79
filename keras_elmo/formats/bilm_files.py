"""Finding a biLM's options and weights: files, a directory, a zip, URLs."""

import contextlib
import gzip
import io
import json
import os
import posixpath
import zipfile
import zlib
from collections.abc import Callable
from typing import NamedTuple

from keras_elmo.files.archives import member_names
from keras_elmo.files.archives import open_archive
from keras_elmo.files.archives import read_member
from keras_elmo.files.fetch import fetch
from keras_elmo.files.mistaken_files import describe_mistaken
from keras_elmo.files.untrusted_files import UntrustedFile
from keras_elmo.files.untrusted_files import bounded_lines
from keras_elmo.files.untrusted_files import read_regular
from keras_elmo.formats.bilm_arrays import most_of_arrays
from keras_elmo.formats.bilm_arrays import read_arrays

VOCABULARIES = ("vocab.txt", "vocab.txt.gz")
_OPTIONS = "options.json"
_TRAINING = "training.json"
# The second name is that of the NLPL repository's models.
_WEIGHTS = ("weights.hdf5", "model.hdf5")
_BESIDE_WEIGHTS = (
    "elmo_token_embeddings.hdf5",
    "softmax.hdf5",
    "token_embeddings.hdf5",
    "training_state.hdf5",
)

# Bytes; they have a few hundred.
MOST_OF_OPTIONS = 1 << 20


class WeightSource(NamedTuple):
    """A weight file: how to open it, and what to call it."""

    open: Callable
    """From the most bytes that it may unpack to, or `None`, to what h5py can
    open: a path, or a file object."""
    label: str

    @property
    def file(self):
        """What h5py can open."""
        return self.open(None)

    def read(self, shapes, unread=()):
        """Reads the arrays, as `read_arrays` does.

        Of the arrays in `unread`, too, the shapes are needed.
        """
        file = self.open(most_of_arrays({**shapes, **dict(unread)}))
        return read_arrays(file, shapes, self.label, unread)


class BilmFiles(NamedTuple):
    """The files of a biLM."""

    read_options: Callable
    """Returns the parsed JSON."""
    options_label: str
    """What to call the options file."""
    weights: WeightSource
    read_vocabulary: Callable = lambda: None
    """Returns the bytes of the vocabulary file in the model's folder or zip,
    unpacked, or `None`."""


@contextlib.contextmanager
def open_bilm(options, weights=None):
    """Finds a biLM's two files.

    Args:
        options: Path or http(s) URL of the options file; or, without
            `weights`, path of a directory, path or URL of a `.zip`, or
            `hf://user/repository`.
        weights: Path or URL of the weight file, or `None`.

    Yields:
        A `BilmFiles`.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If a directory or zip does not hold just one options file
            and one weight file, by the names that `find_options` and
            `find_weights` tell, a zip is damaged, or the options are not JSON.
        OSError: If a download fails.
    """
    options = fetch(options, "options")
    if weights is not None:
        weights = fetch(weights, "weights_file")
        yield _from_paths(options, weights)
    elif os.path.isdir(options):
        names = os.listdir(options)
        yield _from_paths(
            os.path.join(options, find_options(names, options)),
            os.path.join(options, find_weights(names, options)),
        )._replace(read_vocabulary=lambda: _read_vocabulary(options, names))
    elif not os.path.isfile(options):
        raise FileNotFoundError(f"There is no file or directory '{options}'.")
    elif zipfile.is_zipfile(options):
        with open_archive(options) as archive:
            yield _from_zip(archive, options)
    else:
        raise ValueError(
            "Without `weights_file`, `options` must be a directory or a .zip "
            "that holds both. Received a file that is no zip, or a damaged "
            f"one: options={options!r}"
        )


def _from_paths(options, weights):
    for kind, path in (("options", options), ("weight", weights)):
        if not os.path.isfile(path):
            raise FileNotFoundError(f"There is no {kind} file '{path}'.")
    return BilmFiles(
        lambda: read_options(options),
        options,
        WeightSource(lambda most: weights, weights),
    )


def _from_zip(archive, path):
    names = member_names(archive, path)
    options, weights = find_options(names, path), find_weights(names, path)
    return BilmFiles(
        lambda: read_archived_options(archive, options, path),
        f"{path}/{options}",
        WeightSource(
            lambda most: io.BytesIO(read_member(archive, weights, path, most)),
            f"{path}/{weights}",
        ),
        lambda: _read_archived_vocabulary(
            archive, posixpath.dirname(options), path
        ),
    )


def read_archived_options(archive, name, path):
    """Returns the JSON of an options file in the archive at `path`."""
    content = read_member(archive, name, path, MOST_OF_OPTIONS)
    return parse_json(content, f"{path}/{name}")


def _read_vocabulary(folder, names):
    for name in VOCABULARIES:
        if name in names:
            path = os.path.join(folder, name)
            return _unpacked(read_regular(path), path, os.path.getsize(path))
    return None


def _read_archived_vocabulary(archive, root, path):
    names = member_names(archive, path)
    for name in (posixpath.join(root, name) for name in VOCABULARIES):
        if name in names:
            content = read_member(archive, name, path)
            return _unpacked(content, f"{path}/{name}", os.path.getsize(path))
    return None


def _unpacked(content, label, size):
    """Unpacks a vocabulary from a file of `size` bytes, if it is packed."""
    if not label.endswith(".gz"):
        return content
    try:
        with gzip.open(io.BytesIO(content)) as file:
            return b"".join(bounded_lines(file, size))
    except (EOFError, OSError, zlib.error, UntrustedFile) as error:
        raise ValueError(
            f"'{label}' cannot be unpacked; it may be cut off or damaged: "
            f"{error}"
        ) from error


def read_options(path, label=None):
    """Returns the JSON of an options file; messages call it `label`."""
    return parse_json(read_regular(path), label or path)


def is_training_without_model(names):
    """Whether these are the files of a training that has just begun."""
    return _TRAINING in names and _OPTIONS not in names


def find_options(names, where):
    """Picks the options file out of the names of the files of `where`.

    Without one of the name `options.json`, another may end in it.
    """
    if is_training_without_model(names):
        raise ValueError(
            f"The training in '{where}' has no model yet: keras-elmo pretrain "
            "writes the first one at its first held-out perplexity or "
            "checkpoint, by default after 10 steps. Run its command again to "
            "go on."
        )
    return _only(
        names,
        where,
        "an 'options.json'",
        lambda n: n == _OPTIONS,
        lambda n: n.endswith(f"_{_OPTIONS}"),
    )


def find_weights(names, where):
    """Picks the weight file out of the names of the files of `where`.

    Other HDF5 files may lie beside one of the name `weights.hdf5`; without,
    beside one of the name `model.hdf5`, or one whose name ends in
    `_weights.hdf5`.
    """
    return _only(
        names,
        where,
        "a '.hdf5' file",
        *(lambda n, name=name: n == name for name in _WEIGHTS),
        lambda n: n.endswith(f"_{_WEIGHTS[0]}"),
        lambda n: n.endswith(".hdf5") and n not in _BESIDE_WEIGHTS,
    )


def _only(names, where, what, *tests):
    """The one name that passes the first test which any name passes."""
    for test in tests:
        found = sorted(n for n in names if test(posixpath.basename(n)))
        if len(found) == 1:
            return found[0]
        if found:
            break
    raise ValueError(
        f"'{where}' must hold {what}, and only one. Received: "
        f"{found or sorted(names)}; pass the two files themselves to choose."
    )


def parse_json(text, label):
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = describe_mistaken(text[:4096]) or error
        raise ValueError(
            f"The options file '{label}' is not JSON: {reason}"
        ) from error
