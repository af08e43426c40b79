"""Files from the web, downloaded once."""

import contextlib
import http.client
import os
import sys
import tempfile
import urllib.error
import urllib.request

import keras

from keras_elmo.files.atomic import write_atomically
from keras_elmo.files.file_kinds import check_whole
from keras_elmo.files.file_lock import file_lock

_CHUNK = 1 << 20
# Timeout in seconds without receiving a byte.
_PATIENCE = 60


def download(url, folder, filename):
    """Returns the local path of a file from the web.

    Concurrent processes wait for the first one's download. A file at the path
    is always complete, and is JSON, HDF5 or a zip.

    Args:
        url: http(s) URL.
        folder: Name of a folder in this package's part of Keras' cache
            (`~/.keras`, or the environment variable `KERAS_HOME`).
        filename: Name of the file in that folder.

    Raises:
        OSError: If the download fails.
    """
    home = os.environ.get("KERAS_HOME") or os.path.join("~", ".keras")
    name = os.path.join("keras_elmo", folder, filename)
    path = os.path.join(os.path.expanduser(home), name)
    if os.path.isfile(path):  # Perhaps put there by the user.
        return path
    writable = path
    if not _can_write(os.path.dirname(path)):  # As Keras does.
        writable = os.path.join(tempfile.gettempdir(), ".keras", name)
    try:
        _download_once(url, writable)
    except (OSError, ValueError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise OSError(
            f"The download of {url} failed. If you can get the file another "
            f"way, put it at {path} and try again. The error was: {error}"
        ) from error
    return writable


def _can_write(folder):
    with contextlib.suppress(OSError):
        os.makedirs(folder, exist_ok=True)
    return os.access(folder, os.W_OK)


def _download_once(url, path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    lock = f"{path}.lock"
    with file_lock(lock, waits=True):
        try:
            # Another process may have downloaded it meanwhile.
            if not os.path.isfile(path):
                write_atomically(path, lambda temporary: _get(url, temporary))
        finally:
            with contextlib.suppress(OSError):
                os.remove(lock)


def _in_megabytes(size):
    return "" if size is None else f" ({size / 1e6:,.1f} MB)"


def _get(url, path):
    with (
        contextlib.redirect_stdout(sys.stderr),  # `--json` writes to stdout.
        urllib.request.urlopen(url, timeout=_PATIENCE) as reply,
        open(path, "wb") as file,
    ):
        size = reply.headers["Content-Length"]
        size = None if size is None else int(size)
        print(f"Downloading {url}{_in_megabytes(size)}")
        # Only a terminal can show a bar.
        bar = keras.utils.Progbar(
            size, verbose=int(sys.stderr.isatty()), unit_name="byte"
        )
        while chunk := reply.read(_CHUNK):
            file.write(chunk)
            bar.add(len(chunk))
        received = file.tell()
        if received != size:  # Otherwise the bar is finished already.
            bar.update(received, finalize=True)
    if size is not None and received != size:
        raise ValueError(f"it ended after {received:,} of {size:,} bytes")
    # A response may have no size, or be a login page.
    check_whole(path)
