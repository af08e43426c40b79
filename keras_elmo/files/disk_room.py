"""Disks that are full."""

import contextlib
import errno
import os

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def room_told(where, advice):
    """Context in which the error of a full disk says what is to be done.

    Args:
        where: What there is no room to do, such as "to write 'a'".
        advice: Function that returns what else to say, in sentences.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise OSError(
            error.errno,
            f"There is no room {where}. {advice()} The error was: {error}",
        ) from error


def check_room(path, size):
    """Raises the system's `OSError` unless a file fits on the disk.

    For writers that crash, or say nothing, when the disk becomes full.

    Args:
        path: Path of the file, which is not there yet.
        size: Integer, about how many bytes it will have.
    """
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        with open(path, "xb") as file:
            os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        if error.errno in _FULL:
            raise
        # Not every file system can tell.
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
