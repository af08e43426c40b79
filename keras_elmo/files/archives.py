"""Zip files that hold a model."""

import contextlib
import os
import zipfile

from keras_elmo.files.untrusted_files import most_unpacked


@contextlib.contextmanager
def open_archive(path):
    """Yields the `zipfile.ZipFile`, or raises a `ValueError` naming `path`."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise ValueError(
            f"The archive '{path}' cannot be read: {error}"
        ) from error
    with archive:
        yield archive


def member_names(archive, path):
    """Lists the archive's files; raises `ValueError` if one leads out of it."""
    names = [i.filename for i in archive.infolist() if not i.is_dir()]
    for name in names:
        parts = name.replace("\\", "/").split("/")
        if name.startswith(("/", "\\")) or ".." in parts or ":" in parts[0]:
            raise ValueError(
                f"The archive '{path}' holds a path that leads out of it, so "
                f"it is not trusted. Received: {name!r}"
            )
    return [n for n in names if not n.startswith("__MACOSX/")]


def read_member(archive, name, path, most=None):
    """Returns the bytes of one file of the archive at `path`.

    Args:
        archive: The `zipfile.ZipFile`.
        name: The file's name.
        path: Path of the archive.
        most: Integer, how many bytes it may be, if less than any may.

    Raises:
        ValueError: If it cannot be read, or declares to be larger.
    """
    with open_member(archive, name, path, most) as file:
        return file.read()


@contextlib.contextmanager
def open_member(archive, name, path, most=None):
    """Opens one file of the archive; as `read_member`."""
    check_sizes(archive, [name], path, most)
    try:
        with archive.open(name) as file:
            yield file
    except Exception as error:
        # Each way of compressing has errors of its own.
        raise ValueError(
            f"'{name}' cannot be read from the archive '{path}': {error}"
        ) from error


def check_sizes(archive, names, path, most=None):
    """Raises `ValueError` unless the archive can hold what it declares.

    No more is read of a file than it declares.
    """
    declared = sum(archive.getinfo(name).file_size for name in names)
    size = os.path.getsize(path)
    most = min(most_unpacked(size), declared if most is None else most)
    if declared > most:
        raise ValueError(
            f"The archive '{path}', of {size:,} bytes, declares more for "
            f"{', '.join(map(repr, names))} than is read. Expected at most "
            f"{most:,} bytes. Received: {declared:,}"
        )
