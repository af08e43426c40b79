"""Local paths of files and folders, which are downloaded if necessary."""

import hashlib
import os
import posixpath

from keras_elmo.files.downloads import download
from keras_elmo.files.hub import PREFIX
from keras_elmo.files.hub import download_from_hub


def fetch(path_or_url, argument):
    """Returns the local path of a file or folder; a URL is downloaded once."""
    if not isinstance(path_or_url, (str, os.PathLike)):
        raise ValueError(
            f"`{argument}` must be a path or a URL. "
            f"Received: {path_or_url!r} (of type {type(path_or_url).__name__})"
        )
    path_or_url = os.fspath(path_or_url)
    if path_or_url.startswith(PREFIX):
        return download_from_hub(path_or_url)
    if not path_or_url.startswith(("http://", "https://")):
        return path_or_url
    # Each URL has its own folder, as files of many models have the same name.
    digest = hashlib.sha256(path_or_url.encode()).hexdigest()[:16]
    name = posixpath.basename(path_or_url.split("?")[0]) or "file"
    return download(path_or_url, digest, name)
