"""Zip files that contain a model."""

import contextlib
import errno
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
    """Lists the archive's files; raises `ValueError` if a path leaves it."""
    names = [i.filename for i in archive.infolist() if not i.is_dir()]
    for name in names:
        parts = name.replace("\\", "/").split("/")
        if name.startswith(("/", "\\")) or ".." in parts or ":" in parts[0]:
            raise ValueError(
                f"The archive '{path}' contains a path outside itself, so it "
                f"is not trusted. Received: {name!r}"
            )
    return [n for n in names if not n.startswith("__MACOSX/")]


def read_member(archive, name, path, most=None):
    """Returns the bytes of one file of the archive at `path`.

    Args:
        archive: The `zipfile.ZipFile`.
        name: The file's name.
        path: Path of the archive.
        most: Integer, the maximum size in bytes, if lower than the general
            limit.

    Raises:
        ValueError: If it cannot be read, or declares a larger size.
    """
    with open_member(archive, name, path, most) as file:
        return file.read()


@contextlib.contextmanager
def open_member(archive, name, path, most=None):
    """Opens one file of the archive; arguments as for `read_member`."""
    check_sizes(archive, [name], path, most)
    try:
        with archive.open(name) as file:
            yield file
    except Exception as error:
        # An impossible offset in the archive is an invalid argument.
        if getattr(error, "errno", None) not in (None, errno.EINVAL):
            raise  # An error of the system, such as a full disk.
        # Each compression method has its own errors.
        raise ValueError(
            f"'{name}' cannot be read from the archive '{path}': {error}"
        ) from error


def check_sizes(archive, names, path, most=None):
    """Raises `ValueError` if the archive declares implausibly large files.

    No more of a file is read than its declared size.
    """
    declared = sum(archive.getinfo(name).file_size for name in names)
    size = os.path.getsize(path)
    most = min(most_unpacked(size), declared if most is None else most)
    if declared > most:
        raise ValueError(
            f"The archive '{path}' ({size:,} bytes) declares too large a size "
            f"for {', '.join(map(repr, names))}. Expected at most {most:,} "
            f"bytes. Received: {declared:,}"
        )
