"""Finding a biLM's options and weights: files, a directory, a zip, URLs."""

import contextlib
import hashlib
import io
import json
import os
import posixpath
import zipfile
from collections.abc import Callable
from typing import Any
from typing import NamedTuple

from keras_elmo.formats.archives import member_names
from keras_elmo.formats.archives import open_archive
from keras_elmo.formats.archives import read_member
from keras_elmo.formats.bilm_arrays import read_arrays
from keras_elmo.formats.downloads import download

_OPTIONS = "options.json"
_WEIGHTS = "weights.hdf5"
_BESIDE_WEIGHTS = ("softmax.hdf5", "training_state.hdf5")


class WeightSource(NamedTuple):
    """A weight file: what h5py can open, and what to call it."""

    file: Any
    label: str

    def read(self, shapes):
        """Reads the arrays, as `read_arrays` does."""
        return read_arrays(self.file, shapes, self.label)


class BilmFiles(NamedTuple):
    """The two files of a biLM."""

    read_options: Callable
    """Returns the parsed options."""
    weights: WeightSource


@contextlib.contextmanager
def open_bilm(options, weights=None):
    """Finds a biLM's two files.

    Args:
        options: Path or http(s) URL of the options file; or, without
            `weights`, path of a directory, or path or URL of a `.zip`.
        weights: Path or URL of the weight file, or `None`.

    Yields:
        A `BilmFiles`.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If a directory or zip does not hold just one `options.json`
            and one `.hdf5` or `weights.hdf5`, a zip is damaged, or the options
            are not JSON.
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
        )
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


def fetch(path_or_url, argument):
    """Returns the local path of a file; a URL is downloaded once."""
    if not isinstance(path_or_url, (str, os.PathLike)):
        raise ValueError(
            f"`{argument}` must be a path or a URL. "
            f"Received: {path_or_url!r} (of type {type(path_or_url).__name__})"
        )
    path_or_url = os.fspath(path_or_url)
    if not path_or_url.startswith(("http://", "https://")):
        return path_or_url
    # Each URL has a folder of its own, as many models' files share a name.
    digest = hashlib.sha256(path_or_url.encode()).hexdigest()[:16]
    name = posixpath.basename(path_or_url.split("?")[0]) or "file"
    return download(path_or_url, digest, name)


def _from_paths(options, weights):
    for kind, path in (("options", options), ("weight", weights)):
        if not os.path.isfile(path):
            raise FileNotFoundError(f"There is no {kind} file '{path}'.")
    return BilmFiles(
        lambda: read_options(options), WeightSource(weights, weights)
    )


def _from_zip(archive, path):
    names = member_names(archive, path)
    options, weights = find_options(names, path), find_weights(names, path)
    return BilmFiles(
        lambda: parse_json(
            read_member(archive, options, path), f"{path}/{options}"
        ),
        WeightSource(
            io.BytesIO(read_member(archive, weights, path)), f"{path}/{weights}"
        ),
    )


def read_options(path, label=None):
    """Returns the JSON of an options file; messages call it `label`."""
    with open(path, "rb") as file:
        return parse_json(file.read(), label or path)


def find_options(names, where):
    """Picks the options file out of the names of the files of `where`."""
    return _only(names, where, "an 'options.json'", lambda n: n == _OPTIONS)


def find_weights(names, where):
    """Picks the weight file out of the names of the files of `where`.

    Other HDF5 files may lie beside one of the name `weights.hdf5`.
    """
    if any(posixpath.basename(n) == _WEIGHTS for n in names):
        return _only(names, where, f"a '{_WEIGHTS}'", lambda n: n == _WEIGHTS)
    return _only(
        names,
        where,
        "a '.hdf5' file",
        lambda n: n.endswith(".hdf5") and n not in _BESIDE_WEIGHTS,
    )


def _only(names, where, what, matches):
    found = sorted(n for n in names if matches(posixpath.basename(n)))
    if len(found) == 1:
        return found[0]
    raise ValueError(
        f"'{where}' must hold {what}, and only one. Received: "
        f"{found or sorted(names)}; pass the two files themselves to choose."
    )


def parse_json(text, label):
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"The options file '{label}' is not JSON: {error}"
        ) from error
