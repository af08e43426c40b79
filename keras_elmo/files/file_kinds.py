"""Checks that a file is complete, according to its format."""

import json
import zipfile

from keras_elmo.files.hdf5_files import open_hdf5

_HDF5 = b"\x89HDF\r\n\x1a\n"
_ZIP = b"PK"


def check_whole(path):
    """Raises `ValueError` unless a file is a complete HDF5, zip or JSON file.

    An HDF5 file states its length, a zip ends with its table of contents, and
    JSON ends with the closing bracket.
    """
    with open(path, "rb") as file:
        start = file.read(64)
        file.seek(0)
        try:
            if start.startswith(_HDF5):
                with open_hdf5(file):
                    pass
            elif start.startswith(_ZIP):
                zipfile.ZipFile(file).close()
            elif start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
                json.load(file)
            else:
                raise ValueError(
                    "it must be HDF5, a zip or JSON. Received a file that "
                    f"begins with {start!r}"
                )
        except (OSError, zipfile.BadZipFile, RecursionError) as error:
            raise ValueError(f"it is truncated or corrupt: {error}") from error
