"""Zips of models."""

import pathlib
import zipfile


def write_zip(path, files, root="", compression=zipfile.ZIP_STORED):
    """Writes files below `root`; returns the path of the zip.

    Args:
        path: Its path.
        files: A folder, or a dictionary from names to bytes.
        root: String before each name.
        compression: As for `zipfile.ZipFile`.
    """
    if not isinstance(files, dict):
        paths = pathlib.Path(files).iterdir()
        files = {file.name: file.read_bytes() for file in paths}
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(root + name, content)
    return path
