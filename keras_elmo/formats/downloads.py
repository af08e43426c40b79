"""Files from the web, downloaded once."""

import contextlib
import os

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
    try:
        return keras.utils.get_file(
            filename, origin=url, cache_dir=home, cache_subdir=folder
        )
    except Exception as error:
        # get_file raises plain `Exception` for every kind of failure.
        raise OSError(
            f"The download of {url} failed. If you can get the file another "
            f"way, put it at {path} and call again. The error was: {error}"
        ) from error
