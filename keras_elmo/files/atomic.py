"""Files and folders that are written whole or not at all."""

import contextlib
import errno
import json
import os
import re
import secrets
import shutil

from keras_elmo.files.disk_room import room_told
from keras_elmo.files.exchange import exchange
from keras_elmo.files.exchange import restore_exchanged
from keras_elmo.files.file_lock import try_lock

_NOT_EMPTY = (errno.ENOTEMPTY, errno.EEXIST)


class FolderIsTaken(ValueError):
    """There is something at a path where a folder was to be written."""


def write_atomically(path, write):
    """Calls `write(temporary path)`, then moves the file to `path`.

    If `write` fails, nothing is left behind and a file at `path` stays as it
    was. Once it is moved, the file is on the disk, not in a cache alone, with
    the permissions of the one that it replaces.

    The temporary file lies beside `path`; its name is a dot, that of `path`, a
    dot, and eight characters. It is locked, by which the next call for `path`
    tells what a killed process left, and removes that. So `write` must not
    lock it.

    Args:
        path: Path of the file, as for `replaceable_file`.
        write: Function of the temporary file's path, which is there and empty.
    """
    path = replaceable_file(path)
    with _temporary(path, _make_file) as temporary:
        write(temporary)
        _sync(temporary)
        replace_file(temporary, path)


def write_json(path, content, before_moving=None):
    """Writes what JSON can hold to a file, as `write_atomically` does.

    Args:
        path: Path of the file.
        content: The object.
        before_moving: Function to call when it is written, before it is moved
            to `path`; or `None`.
    """

    def write(temporary):
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=2)
        if before_moving is not None:
            before_moving()

    write_atomically(path, write)


def replaceable_file(path):
    """Returns the path of the file to replace, or to make, for `path`.

    Links are followed; where one leads to nothing, the file is made there.

    Raises:
        IsADirectoryError: If there is a folder.
        ValueError: If there is something else that is no file, such as a
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
            "The output must be a file: it is written beside its place and "
            f"then moved there. Received a device or a pipe: '{path}'"
        )
    return target


def write_folder_atomically(path, write, overwrite=False):
    """Calls `write(temporary folder)`, then moves the folder to `path`.

    If `write` fails, nothing is left behind. Folders above `path` are made.
    What a killed process left is found and removed as by `write_atomically`.

    Args:
        path: Path of the folder.
        write: Function of the temporary folder's path.
        overwrite: Boolean, whether a folder at `path` gives way to the new one,
            once that is written.

    Raises:
        FolderIsTaken: If there is something at `path` other than an empty
            folder, or than a folder with `overwrite`.
        OSError: If the disk is full, among others.
    """
    path = os.path.realpath(path)
    restore_exchanged(path)
    _check_folder(path, overwrite)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with (
        room_told(f"to write '{path}'", lambda: "Nothing was changed."),
        _temporary(path, os.mkdir) as temporary,
    ):
        write(temporary)
        for folder, _, files in os.walk(temporary, topdown=False):
            for file in files:
                _sync(os.path.join(folder, file))
            _sync(folder)
        _move_folder(temporary, path, overwrite)


def replace_file(source, path):
    """Moves a file to a path that `replaceable_file` returned, for good.

    It gets the permissions of the file that it replaces.
    """
    if os.path.exists(replaceable_file(path)):
        shutil.copymode(path, source)
    _move(source, path)


def _move(source, path):
    """Moves a file or folder in one step, for good once this returns."""
    os.replace(source, path)
    _sync_parent(path)


def _check_folder(path, overwrite):
    if os.path.exists(path) and not (
        os.path.isdir(path) and (overwrite or not os.listdir(path))
    ):
        raise FolderIsTaken(
            "The directory to write must not exist yet, or be empty. "
            f"Received: '{path}'"
        )


def _move_folder(source, path, overwrite):
    with contextlib.suppress(OSError):  # If it is there and empty.
        os.rmdir(path)
    try:
        _move(source, path)
    except OSError as error:
        if error.errno not in _NOT_EMPTY:
            raise
        # Perhaps by another process, while this one wrote.
        _check_folder(path, overwrite)
        exchange(source, path)
        _sync_parent(path)


@contextlib.contextmanager
def _temporary(path, make):
    """Makes something beside `path`, which is gone after the context."""
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
                # The path that the caller knows.
                raise OSError(error.errno, error.strerror, path) from error
            stack.callback(_remove, temporary)
            if stack.enter_context(_locked(temporary)) is not False:
                break
        yield temporary


def _make_file(path):
    # With the permissions that the process gives to new files.
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
    if os.name != "posix":  # Windows opens no folders.
        yield None
        return
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:  # It is gone, or another user's.
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
