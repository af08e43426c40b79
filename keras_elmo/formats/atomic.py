"""Files and folders that are written whole or not at all."""

import contextlib
import os
import shutil
import tempfile


def write_atomically(path, write):
    """Calls `write(temporary path)`, then moves the file to `path`.

    If `write` fails, nothing is left behind and a file at `path` stays as it
    was. Once it is moved, the file is on the disk, not in a cache alone. The
    temporary file lies beside `path`; its name is a dot, that of `path`, and a
    suffix.
    """
    folder, name = os.path.split(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    os.close(handle)
    try:
        write(temporary)
        _sync(temporary)
        os.chmod(temporary, 0o666 & ~_umask())
        move(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def write_folder_atomically(path, write, overwrite=False):
    """Calls `write(temporary folder)`, then moves the folder to `path`.

    If `write` fails, nothing is left behind. Folders above `path` are made.

    Args:
        path: Path of the folder.
        write: Function of the temporary folder's path.
        overwrite: Boolean, whether a folder at `path` gives way to the new one,
            once that is written.

    Raises:
        ValueError: If there is something at `path` other than an empty folder.
    """
    path = os.path.realpath(path)
    if not overwrite and not _is_free(path):
        raise ValueError(
            "The directory to write must not exist yet, or be empty. "
            f"Received: '{path}'"
        )
    parent, name = os.path.split(path)
    os.makedirs(parent, exist_ok=True)
    temporary = tempfile.mkdtemp(prefix=f".{name}.", dir=parent)
    try:
        write(temporary)
        for folder, _, files in os.walk(temporary, topdown=False):
            for file in files:
                _sync(os.path.join(folder, file))
            _sync(folder)
        os.chmod(temporary, 0o777 & ~_umask())
        _move_folder(temporary, path, overwrite)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _is_free(path):
    """Whether there is nothing at `path` but an empty folder."""
    return not os.path.exists(path) or (
        os.path.isdir(path) and not os.listdir(path)
    )


def _move_folder(source, path, overwrite):
    if not overwrite or _is_free(path):
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(path)
        move(source, path)
        return
    old = f"{source}.old"
    os.rename(path, old)
    try:
        move(source, path)
    except BaseException:
        os.rename(old, path)
        raise
    shutil.rmtree(old)


def move(source, path):
    """Moves a file or folder in one step, for good once this returns."""
    os.replace(source, path)
    # Not every file system can do it for a folder.
    with contextlib.suppress(OSError):
        _sync(os.path.dirname(os.path.abspath(path)))


def _sync(path):
    if os.name != "posix":  # Windows opens no folders.
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask():
    umask = os.umask(0)
    os.umask(umask)
    return umask
