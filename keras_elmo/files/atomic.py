"""Atomic writing of files and folders."""

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
import stat
import tempfile

from keras_elmo.checks import argument_name
from keras_elmo.files.file_lock import file_lock

_IN_THE_WAY = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Bytes of a name; most file systems take 255, and a temporary name is longer.
_LONGEST = 120


def write_atomically(path, write, overwrite=True):
    """Calls `write(temporary path)`, then moves the file to `path`.

    If `write` fails, nothing is left behind and a file at `path` is unchanged.
    If it must not replace a file, and one appears while `write` works, it moves
    the result to another path and raises an error that names it. So do the work
    in `write`. After the move, the file is on the disk, not only in a cache,
    and has the permissions of the file that it replaces.

    The temporary file is beside `path` and named `.{name}.keras_elmo`, where
    `name` is that of `path`, or a digest of it if it is long. Another process
    that writes `path` waits for this one. What a killed process left is
    overwritten by the next call for `path`.

    Args:
        path: Path of the file, as for `replaceable_file`.
        write: Function that takes the path of the temporary file, which does
            not exist.
        overwrite: Boolean, whether to replace an existing file.

    Raises:
        FileExistsError: If there is a file, and `overwrite` is not set.
    """
    path = replaceable_file(path)
    refuse_existing(path, overwrite)  # Before it waits for another.
    with temporary_path(path) as temporary:
        refuse_existing(path, overwrite)
        write(temporary)
        replace_file(temporary, path, overwrite)


@contextlib.contextmanager
def temporary_path(path):
    """Yields a path beside `path` that no other process uses.

    There is nothing at it. What is there at the end is removed.
    """
    temporary = _temporary_name(path)
    lock = f"{temporary}.lock"
    with contextlib.ExitStack() as stack:
        try:
            is_locked = stack.enter_context(file_lock(lock, waits=True))
        except OSError as error:
            # Name the path that the caller passed.
            raise OSError(error.errno, error.strerror, path) from error
        if not is_locked:
            temporary = f"{temporary}.{secrets.token_hex(4)}"
        # Removed before it is unlocked: who waits for it then sees that.
        stack.callback(_remove, lock)
        stack.callback(_remove, temporary)
        _remove(temporary)
        yield temporary


def remove_file(path):
    """Removes a file, and what a killed `write_atomically` left beside it."""
    temporary = _temporary_name(path)
    for name in (f"{temporary}.lock", temporary, path):
        with contextlib.suppress(FileNotFoundError):
            os.remove(name)


def write_json(path, content, before_moving=None, overwrite=True):
    """Writes a JSON file with `write_atomically`.

    Args:
        path: Path of the file.
        content: The object, which JSON can represent.
        before_moving: Function to call after the file is written and before it
            is moved to `path`; or `None`.
        overwrite: Boolean, whether to replace an existing file.
    """

    def write(temporary):
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=2)
        if before_moving is not None:
            before_moving()

    write_atomically(path, write, overwrite)


def replaceable_file(path):
    """Returns the path of the file to replace or create for `path`.

    Links are followed. If the target of a link does not exist, it is created.

    Raises:
        IsADirectoryError: If the path is a folder.
        ValueError: If the path is empty, or neither a file nor a folder, for
            example a device.
        OSError: If no file can have this path, for example as it is too long.
    """
    mode = _mode_of(path)
    if os.fspath(path).endswith(os.sep) or (mode and stat.S_ISDIR(mode)):
        raise IsADirectoryError(
            f"The output must be a file. Received a folder: '{path}'"
        )
    if mode and not stat.S_ISREG(mode):
        raise ValueError(
            "The output must be a file: it is written to a temporary file and "
            f"then moved there. Received a device or a pipe: '{path}'"
        )
    return os.path.realpath(path) if os.path.islink(path) else path


def refuse_existing(path, overwrite):
    """Raises `FileExistsError` for an existing file, unless `overwrite`."""
    if os.path.isfile(path) and not overwrite:
        raise _exists(path)


def refuse_other_files(folder, names):
    """Raises `FileExistsError` if a folder has files of other names.

    With them, a model that is written there could be taken for another one.
    Hidden files do not count.
    """
    found = os.listdir(folder) if os.path.isdir(folder) else []
    others = {x for x in found if not x.startswith(".")} - {*names}
    if others:
        raise FileExistsError(
            f"'{folder}' is not replaced, because it has files other than "
            f"{sorted(names)}. Received: {sorted(others)}"
        )


def replace_file(source, path, overwrite=True, kept=None):
    """Durably moves a file to a path that `replaceable_file` returned.

    It gets the permissions of the file that it replaces.

    Args:
        source: Path of the file.
        path: The path to move it to.
        overwrite: Boolean, whether to replace an existing file.
        kept: Path to move it to if it must not replace one that exists. By
            default, a new one beside `path`.

    Raises:
        FileExistsError: If it must not; the error says where it is.
    """
    if overwrite and os.path.exists(replaceable_file(path)):
        shutil.copymode(path, source)
    _sync(source)
    if overwrite:
        os.replace(source, path)
    else:
        try:
            os.link(source, path)  # Unlike a move, it replaces nothing.
            os.remove(source)
        except OSError:
            if os.path.lexists(path):
                raise _kept_beside(source, path, kept) from None
            os.rename(source, path)  # The file system has no links.
    _sync_parent(path)


def write_folder_atomically(path, write, files, overwrite=False):
    """Calls `write(temporary folder)`, then moves the folder to `path`.

    If `write` fails, nothing is left behind. If a folder appears meanwhile that
    it must not write to, it is as in `write_atomically`. Parent folders of
    `path` are created. The temporary folder is named as in `write_atomically`.

    A folder that has files already stays, with its other files, and each new
    file is moved into it. The file that makes the folder complete is removed
    first and moved last, so that a process killed in between leaves no mixture
    of two models.

    Args:
        path: Path of the folder.
        write: Function that takes the path of the temporary folder.
        files: Names of the files that `write` may write to the folder itself,
            first the one without which the folder is not complete. Those in an
            existing folder that are not written anew are removed.
        overwrite: Boolean, whether the folder may already have files.

    Raises:
        FileExistsError: If there is a folder with files, and `overwrite` is not
            set.
        NotADirectoryError: If `path` is not a folder.
        OSError: If the folder cannot be written, for example on a full disk.
    """
    check_folder(path, overwrite)
    path = os.path.realpath(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    complete = os.path.join(path, files[0])
    has_files = os.path.isdir(path) and bool(os.listdir(path))
    with (
        explain_full_disk(f"to write '{path}'", lambda: "Nothing has changed."),
        # A folder with files may be on another disk than its parent.
        temporary_path(complete if has_files else path) as temporary,
        contextlib.ExitStack() as stack,
    ):
        os.mkdir(temporary)
        write(temporary)
        if not has_files:
            if _move_folder(temporary, path):
                return
            # It has appeared meanwhile.
            if not (overwrite and os.path.isdir(path)):
                raise _kept_beside(temporary, path)
            stack.enter_context(temporary_path(complete))
        _move_files(temporary, path, files)


@contextlib.contextmanager
def explain_full_disk(where, advice):
    """Context manager that makes the error of a full disk say what to do.

    Args:
        where: What there is no space for, such as "to write 'a'".
        advice: Function that returns further sentences for the message.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise OSError(
            error.errno,
            f"There is no space left on the device {where}. {advice()} "
            f"The error was: {error}",
        ) from error


def explain_full_temporary_folder(what):
    """`explain_full_disk` for temporary files, of which `what` says the use."""
    return explain_full_disk(
        f"{what} in the temporary folder '{tempfile.gettempdir()}'",
        lambda: "Set the environment variable TMPDIR to a larger one.",
    )


def check_folder(path, overwrite):
    """Raises the errors of `write_folder_atomically` for a path."""
    mode = _mode_of(path)
    if mode and not stat.S_ISDIR(mode):
        raise NotADirectoryError(
            f"The output must be a folder. Received a file: '{path}'"
        )
    if mode and os.listdir(path) and not overwrite:
        raise _exists(path)


def _exists(path):
    return FileExistsError(
        f"'{path}' exists. To replace it, pass "
        f"{argument_name('overwrite', True)}."
    )


def _kept_beside(source, path, kept=None):
    """Moves a result to another path; returns the error that names it."""
    root, suffix = os.path.splitext(path)
    kept = kept or f"{root}.{secrets.token_hex(4)}{suffix}"
    os.rename(source, kept)
    return FileExistsError(
        f"'{path}' has appeared meanwhile, so it is not replaced. The result "
        f"is complete, in '{kept}'."
    )


def _mode_of(path):
    """Returns the mode of what is at a path; `None` if there is nothing.

    The error for a path that cannot be names this path, and comes before a
    temporary file is written.
    """
    if not os.fspath(path):
        raise ValueError("The output must have a name. Received: ''")
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _move_folder(source, path):
    """Moves a folder; returns `False` if anything but an empty one is there."""
    for folder, _, names in os.walk(source, topdown=False):
        for name in names:
            _sync(os.path.join(folder, name))
        _sync(folder)
    with contextlib.suppress(OSError):  # If it exists and is empty.
        os.rmdir(path)
    try:
        os.rename(source, path)
    except OSError as error:
        if error.errno not in _IN_THE_WAY:
            raise
        return False
    _sync_parent(path)
    return True


def _move_files(source, path, files):
    written = [
        os.path.relpath(os.path.join(folder, name), source)
        for folder, _, names in os.walk(source)
        for name in names
    ]
    complete = files[0]
    for name in files:
        if name == complete or name not in written:
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(path, name))
    for name in sorted(written, key=complete.__eq__):
        target = os.path.join(path, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        replace_file(os.path.join(source, name), target)


def _temporary_name(path):
    folder, name = os.path.split(os.path.abspath(path))
    if len(os.fsencode(name)) > _LONGEST:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()[:32]
    return os.path.join(folder, f".{name}.keras_elmo")


def _remove(path):
    with contextlib.suppress(OSError):
        if os.path.isdir(path) and not os.path.islink(path):
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
