"""Atomic writing of files and folders."""

import contextlib
import errno
import json
import os
import re
import secrets
import shutil

from keras_elmo.files.disk_room import explain_full_disk
from keras_elmo.files.exchange import exchange
from keras_elmo.files.exchange import restore_exchanged
from keras_elmo.files.file_lock import try_lock

_NOT_EMPTY = (errno.ENOTEMPTY, errno.EEXIST)


class FolderIsTaken(ValueError):
    """Something already exists at the path of a folder to write."""


def write_atomically(path, write):
    """Calls `write(temporary path)`, then moves the file to `path`.

    If `write` fails, nothing is left behind and a file at `path` is unchanged.
    After the move, the file is on the disk, not only in a cache, and has the
    permissions of the file that it replaces.

    The temporary file is beside `path` and named `.{name}.{8 characters}`,
    where `name` is that of `path`. It is locked while it is in use, so that the
    next call for `path` can recognise and remove what a killed process left. So
    `write` must not lock it.

    Args:
        path: Path of the file, as for `replaceable_file`.
        write: Function that takes the path of the temporary file, which exists
            and is empty.
    """
    path = replaceable_file(path)
    with _temporary(path, _make_file) as temporary:
        write(temporary)
        _sync(temporary)
        replace_file(temporary, path)


def write_json(path, content, before_moving=None):
    """Writes a JSON file with `write_atomically`.

    Args:
        path: Path of the file.
        content: The object, which JSON can represent.
        before_moving: Function to call after the file is written and before it
            is moved to `path`; or `None`.
    """

    def write(temporary):
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=2)
        if before_moving is not None:
            before_moving()

    write_atomically(path, write)


def replaceable_file(path):
    """Returns the path of the file to replace or create for `path`.

    Links are followed. If the target of a link does not exist, it is created.

    Raises:
        IsADirectoryError: If the path is a folder.
        ValueError: If the path is neither a file nor a folder, for example a
            device.
    """
    target = os.path.realpath(path) if os.path.islink(path) else path
    try:
        os.stat(target)
    except FileNotFoundError:
        return target
    if os.path.isdir(target):
        raise IsADirectoryError(
            f"The output must be a file. Received a folder: '{path}'"
        )
    if not os.path.isfile(target):
        raise ValueError(
            "The output must be a file: it is written to a temporary file and "
            f"then moved there. Received a device or a pipe: '{path}'"
        )
    return target


def write_folder_atomically(path, write, overwrite=False):
    """Calls `write(temporary folder)`, then moves the folder to `path`.

    If `write` fails, nothing is left behind. Parent folders of `path` are
    created. As in `write_atomically`, what a killed process left is removed.

    Args:
        path: Path of the folder.
        write: Function that takes the path of the temporary folder.
        overwrite: Boolean, whether to replace a folder at `path` once the new
            one is written.

    Raises:
        FolderIsTaken: If `path` exists and is not an empty folder or, with
            `overwrite`, not a folder.
        OSError: If the folder cannot be written, for example on a full disk.
    """
    path = os.path.realpath(path)
    restore_exchanged(path)
    _check_folder(path, overwrite)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with (
        explain_full_disk(f"to write '{path}'", lambda: "Nothing has changed."),
        _temporary(path, os.mkdir) as temporary,
    ):
        write(temporary)
        for folder, _, files in os.walk(temporary, topdown=False):
            for file in files:
                _sync(os.path.join(folder, file))
            _sync(folder)
        _move_folder(temporary, path, overwrite)


def replace_file(source, path):
    """Durably moves a file to a path that `replaceable_file` returned.

    It gets the permissions of the file that it replaces.
    """
    if os.path.exists(replaceable_file(path)):
        shutil.copymode(path, source)
    _move(source, path)


def _move(source, path):
    """Moves a file or folder atomically and durably."""
    os.replace(source, path)
    _sync_parent(path)


def _check_folder(path, overwrite):
    if os.path.exists(path) and not (
        os.path.isdir(path) and (overwrite or not os.listdir(path))
    ):
        raise FolderIsTaken(
            "The directory to write must not exist yet, or must be empty. "
            f"Received: '{path}'"
        )


def _move_folder(source, path, overwrite):
    with contextlib.suppress(OSError):  # If it exists and is empty.
        os.rmdir(path)
    try:
        _move(source, path)
    except OSError as error:
        if error.errno not in _NOT_EMPTY:
            raise
        # Another process may have written it meanwhile.
        _check_folder(path, overwrite)
        exchange(source, path)
        _sync_parent(path)


@contextlib.contextmanager
def _temporary(path, make):
    """Context manager that makes something beside `path`, and removes it."""
    _remove_leftovers(path)
    folder, name = os.path.split(os.path.abspath(path))
    with contextlib.ExitStack() as stack:
        while True:
            temporary = os.path.join(folder, f".{name}.{secrets.token_hex(4)}")
            try:
                make(temporary)
            except FileExistsError:
                continue
            except OSError as error:
                # Name the path that the caller passed.
                raise OSError(error.errno, error.strerror, path) from error
            stack.callback(_remove, temporary)
            if stack.enter_context(_locked(temporary)) is not False:
                break
        yield temporary


def _make_file(path):
    # With the process's default permissions for new files.
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))


def _remove_leftovers(path):
    """Removes what killed processes left beside `path`."""
    folder, name = os.path.split(os.path.abspath(path))
    pattern = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{8}}")
    with contextlib.suppress(OSError):
        for other in filter(pattern.fullmatch, os.listdir(folder)):
            other = os.path.join(folder, other)
            with _locked(other) as is_mine:
                if is_mine:
                    _remove(other)


@contextlib.contextmanager
def _locked(path):
    """Locks a file or folder; yields what `try_lock` returns."""
    if os.name != "posix":  # Windows cannot open folders.
        yield None
        return
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:  # It has been removed, or is another user's.
        yield False
        return
    try:
        yield try_lock(handle, path)
    finally:
        os.close(handle)


def _remove(path):
    with contextlib.suppress(OSError):
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def _sync_parent(path):
    # Some file systems cannot sync a folder.
    with contextlib.suppress(OSError):
        _sync(os.path.dirname(os.path.abspath(path)))


def _sync(path):
    if os.name != "posix":  # Windows cannot open folders.
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
