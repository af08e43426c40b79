"""Locks on files and folders, which the kernel frees when a process dies."""

import contextlib
import errno
import os

# What file systems say that have no locks; some have them for writing alone.
_NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK, errno.EBADF)


@contextlib.contextmanager
def file_lock(path, waits=False):
    """Holds a lock file at `path`.

    Where there are no locks, on Windows and some network file systems, it
    protects from nothing.

    Args:
        path: Path of the file; it is made if it is not there. The holder may
            remove it.
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
                f"Another process is at work: it holds '{path}'."
            )


def try_lock(handle, path, waits=False):
    """Locks an open file or folder until it is closed.

    Args:
        handle: Its descriptor.
        path: Its path.
        waits: Boolean, whether to wait while it is locked by another.

    Returns:
        Whether it is locked now, and still what is at `path`; `None` where
        there are no locks.
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
