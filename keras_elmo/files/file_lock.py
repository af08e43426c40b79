"""Locks on files, which the kernel frees when a process ends."""

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

    Yields:
        Whether it is locked; `None` where there are no locks.

    Raises:
        BlockingIOError: If another process holds it, and `waits` is not set.
    """
    while True:
        with open(path, "ab") as file:
            is_locked = try_lock(file.fileno(), path, waits)
            if is_locked is not False:
                yield is_locked
                return
        if not waits:
            raise BlockingIOError(
                f"Another process is running: it holds the lock '{path}'."
            )


def try_lock(handle, path, waits):
    """Locks an open file until it is closed.

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
        # Its last holder may have removed it since it was opened.
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return None
