"""Whether a file is whole, by its kind."""

import json
import zipfile

from keras_elmo.files.hdf5_files import open_hdf5

_HDF5 = b"\x89HDF\r\n\x1a\n"
_ZIP = b"PK"


def check_whole(path):
    """Raises `ValueError` unless a file is HDF5, a zip or JSON, to its end.

    HDF5 says how long it is, a zip ends in its table of contents, and JSON in
    the bracket that it began with.
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
            raise ValueError(f"it is cut off or damaged: {error}") from error
