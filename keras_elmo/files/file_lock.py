"""Locks on files and folders, which the kernel frees when a process ends."""

import contextlib
import errno
import os

# Errors of file systems without locks, or with locks only for writing.
_NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK, errno.EBADF)


@contextlib.contextmanager
def file_lock(path, waits=False):
    """Holds a lock file at `path`.

    On Windows and some network file systems, which have no locks, it gives no
    protection.

    Args:
        path: Path of the file; it is created if it does not exist. The holder
            may remove it.
        waits: Boolean, whether to wait while another process holds it.

    Raises:
        BlockingIOError: If another process holds it, and `waits` is not set.
    """
    while True:
        with open(path, "ab") as file:
            if try_lock(file.fileno(), path, waits) is not False:
                yield
                return
        if not waits:
            raise BlockingIOError(
                f"Another process is running: it holds the lock '{path}'."
            )


def try_lock(handle, path, waits=False):
    """Locks an open file or folder until it is closed.

    Args:
        handle: Its file descriptor.
        path: Its path.
        waits: Boolean, whether to wait while another process has the lock.

    Returns:
        Whether it is now locked and still at `path`; `None` where there are no
        locks.
    """
    try:
        import fcntl
    except ImportError:  # Windows.
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        # Its last holder may have removed or moved it since it was opened.
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return None
