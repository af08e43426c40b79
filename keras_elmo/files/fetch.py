"""Local paths of files and folders, which are downloaded if necessary."""

import contextlib
import hashlib
import http.client
import os
import posixpath
import re
import sys
import urllib.error
import urllib.request

import keras

from keras_elmo.checks import needs_packages
from keras_elmo.files.atomic import replace_file
from keras_elmo.files.atomic import temporary_path
from keras_elmo.files.untrusted_files import describe_mistaken
from keras_elmo.progress_bars import shows_bars

_HUB = re.compile(r"hf://([\w.-]+/[\w.-]+)(?:@(\S+?))?/?")
_CHUNK = 1 << 20
_PATIENCE = 60  # Seconds without a byte.
# The published weights have 374 MB.
_MOST = 1 << 33
# Weights (HDF5), archives and .keras files (zip), and options (JSON).
_STARTS = (b"\x89HDF", b"PK", b"{", b"\xef\xbb\xbf{")


def fetch(path_or_url, argument):
    """Returns the local path of a file or folder; a URL is downloaded once.

    Args:
        path_or_url: Path, http(s) URL, or `hf://user/repository`, optionally
            followed by `@` and a branch, tag or commit.
        argument: The argument's name in messages.

    Raises:
        ValueError: If it is none of these.
        ImportError: If `huggingface_hub` is needed and not installed.
        OSError: If the download fails.
    """
    if not isinstance(path_or_url, (str, os.PathLike)):
        raise ValueError(
            f"`{argument}` must be a path or a URL. "
            f"Received: {path_or_url!r} (of type {type(path_or_url).__name__})"
        )
    path_or_url = os.fspath(path_or_url)
    if path_or_url.startswith("hf://"):
        return _fetch_from_hub(path_or_url)
    if not path_or_url.startswith(("http://", "https://")):
        return path_or_url
    # Each URL has its own folder, as files of many models have the same name.
    digest = hashlib.sha256(path_or_url.encode()).hexdigest()[:16]
    name = posixpath.basename(path_or_url.split("?")[0]) or "file"
    return download(path_or_url, digest, name)


def _fetch_from_hub(handle):
    match = _HUB.fullmatch(handle)
    if match is None:
        raise ValueError(
            "A model on the Hugging Face Hub must be hf://user/repository or "
            f"hf://user/repository@revision. Received: {handle!r}"
        )
    repository, revision = match.groups()
    with needs_packages(f"'{handle}'", "huggingface_hub"):
        import huggingface_hub
    try:
        return huggingface_hub.snapshot_download(repository, revision=revision)
    except Exception as error:
        # It raises its own errors, and those of its HTTP library and the disk.
        raise OSError(
            f"The download of {handle} failed. If you can get its files "
            "another way, put them in a folder and pass its path. "
            f"The error was: {error}"
        ) from error


def download(url, folder, filename, sha256=None):
    """Returns the local path of a file from the web.

    Concurrent processes wait for the first one's download. A file at the path
    is always complete.

    Args:
        url: http(s) URL.
        folder: Name of a folder in this package's part of Keras' cache
            (`~/.keras`, or the environment variable `KERAS_HOME`).
        filename: Name of the file in that folder.
        sha256: The SHA-256 of the file, in hex digits, if it is known.

    Raises:
        OSError: If the download fails.
    """
    home = os.environ.get("KERAS_HOME") or os.path.join("~", ".keras")
    folder = os.path.join(os.path.expanduser(home), "keras_elmo", folder)
    path = os.path.join(folder, filename)
    if _is_there(path, sha256):  # Perhaps put there by the user.
        return path
    try:
        os.makedirs(folder, exist_ok=True)
        with temporary_path(path) as temporary:
            # Another process may have downloaded it meanwhile.
            if not _is_there(path, sha256):
                _get(url, temporary, sha256)
                replace_file(temporary, path)
    except (OSError, ValueError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise OSError(
            f"The download of {url} failed. If you can get the file another "
            f"way, put it at {path} and try again; the environment variable "
            f"KERAS_HOME chooses another folder. The error was: {error}"
        ) from error
    return path


def _is_there(path, sha256):
    """Whether there is a file, without damage as far as that is known."""
    if sha256 is None or not os.path.isfile(path):
        return os.path.isfile(path)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == sha256


def _get(url, path, sha256):
    with (
        contextlib.redirect_stdout(sys.stderr),  # `--json` writes to stdout.
        urllib.request.urlopen(url, timeout=_PATIENCE) as reply,
        open(path, "wb+") as file,
    ):
        size = reply.length
        if size is None and not reply.chunked:
            raise ValueError("the server does not say where the file ends")
        about = "" if size is None else f" ({size / 1e6:,.1f} MB)"
        print(f"Downloading {url}{about}")
        bar = keras.utils.Progbar(
            size, verbose=int(shows_bars()), unit_name="byte"
        )
        while chunk := reply.read1(_CHUNK):
            file.write(chunk)
            bar.add(len(chunk))
            if file.tell() > _MOST:
                raise ValueError(f"it has more than {_MOST:,} bytes")
        received = file.tell()
        if received != size:  # Otherwise the bar is finished already.
            bar.update(received, finalize=True)
        if received != (size or received):
            raise ValueError(f"it ended after {received:,} of {size:,} bytes")
        file.seek(0)
        start = file.read(4096)
        if not start.startswith(_STARTS):  # It may be a login page.
            reason = (
                describe_mistaken(start) or f"it begins with {start[:32]!r}"
            )
            raise ValueError(f"it must be HDF5, a zip or JSON, but {reason}")
        if sha256 is not None:
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest != sha256:
                raise ValueError(f"its SHA-256 must be {sha256}, not {digest}")
