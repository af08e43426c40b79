"""Files from the web, downloaded once."""

import contextlib
import os
import urllib.error

import keras


def download(url, folder, filename):
    """Returns the local path of a URL's file.

    Args:
        url: http(s) URL.
        folder: Name of a folder within this package's own folder of Keras'
            cache (`~/.keras`, or what the environment's `KERAS_HOME` says).
        filename: Name of the file in that folder.

    Raises:
        OSError: If the download fails.
    """
    home = os.environ.get("KERAS_HOME") or os.path.join("~", ".keras")
    home = os.path.expanduser(home)
    folder = os.path.join("keras_elmo", folder)
    path = os.path.join(home, folder, filename)
    if os.path.isfile(path):  # However it came there.
        return path
    # Where it cannot write, and only there, get_file takes another folder.
    with contextlib.suppress(OSError):
        os.makedirs(home, exist_ok=True)
    # A download that was killed must not pass for the file.
    with contextlib.suppress(FileNotFoundError):
        os.remove(f"{path}.part")
    try:
        part = keras.utils.get_file(
            f"{filename}.part", origin=url, cache_dir=home, cache_subdir=folder
        )
    except Exception as error:
        # get_file raises plain `Exception` for every kind of failure, and
        # leaves the connection open when the server says no.
        if isinstance(error.__context__, urllib.error.HTTPError):
            error.__context__.close()
        raise OSError(
            f"The download of {url} failed. If you can get the file another "
            f"way, put it at {path} and call again. The error was: {error}"
        ) from error
    os.replace(part, part.removesuffix(".part"))
    return part.removesuffix(".part")
