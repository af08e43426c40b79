"""Zip files that hold a model."""

import contextlib
import os
import posixpath
import zipfile


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


def read_member(archive, name, path):
    """Returns the bytes of one file of the archive at `path`."""
    try:
        return archive.read(name)
    except Exception as error:
        # Each way of compressing has errors of its own.
        raise ValueError(
            f"'{name}' cannot be read from the archive '{path}': {error}"
        ) from error


def extract_members(archive, root, folder, path):
    """Writes the archive's files that lie in its folder `root` to `folder`."""
    for name in member_names(archive, path):
        if posixpath.dirname(name) == root:
            target = os.path.join(folder, posixpath.basename(name))
            with open(target, "wb") as file:
                file.write(read_member(archive, name, path))
