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

from keras_elmo.formats.downloads import download


class WeightSource(NamedTuple):
    """A weight file: what h5py can open, and what to call it."""

    file: Any
    label: str


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
            and one `.hdf5`, a zip is damaged, or the options are not JSON.
        OSError: If a download fails.
    """
    options = fetch(options, "options")
    if weights is not None:
        weights = fetch(weights, "weights_file")
        yield _from_paths(options, weights)
    elif os.path.isdir(options):
        names = os.listdir(options)
        found = (os.path.join(options, n) for n in _find(names, options))
        yield _from_paths(*found)
    elif not os.path.isfile(options):
        raise FileNotFoundError(f"There is no file or directory '{options}'.")
    elif zipfile.is_zipfile(options):
        with _open_zip(options) as archive:
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

    def read_options():
        with open(options, "rb") as file:
            return _parse_json(file.read(), options)

    return BilmFiles(read_options, WeightSource(weights, weights))


def _open_zip(path):
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise ValueError(
            f"The archive '{path}' cannot be read: {error}"
        ) from error


def _from_zip(archive, path):
    names = [i.filename for i in archive.infolist() if not i.is_dir()]
    for name in names:
        parts = name.replace("\\", "/").split("/")
        if name.startswith(("/", "\\")) or ".." in parts or ":" in parts[0]:
            raise ValueError(
                f"The archive '{path}' holds a path that leads out of it, so "
                f"it is not trusted. Received: {name!r}"
            )
    options, weights = _find(
        [n for n in names if not n.startswith("__MACOSX/")], path
    )
    return BilmFiles(
        lambda: _parse_json(
            _member(archive, options, path), f"{path}/{options}"
        ),
        WeightSource(
            io.BytesIO(_member(archive, weights, path)), f"{path}/{weights}"
        ),
    )


def _member(archive, name, path):
    try:
        return archive.read(name)
    except Exception as error:
        # Each way of compressing has errors of its own.
        raise ValueError(
            f"'{name}' cannot be read from the archive '{path}': {error}"
        ) from error


def _find(names, where):
    """Picks the options file and the weight file out of `names`."""
    return [
        _only(names, where, "an 'options.json'", lambda n: n == "options.json"),
        _only(names, where, "a '.hdf5' file", lambda n: n.endswith(".hdf5")),
    ]


def _only(names, where, what, matches):
    found = sorted(n for n in names if matches(posixpath.basename(n)))
    if len(found) == 1:
        return found[0]
    raise ValueError(
        f"'{where}' must hold {what}, and only one. Received: "
        f"{found or sorted(names)}; pass the two files themselves to choose."
    )


def _parse_json(text, label):
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"The options file '{label}' is not JSON: {error}"
        ) from error
