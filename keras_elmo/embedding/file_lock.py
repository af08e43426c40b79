import contextlib
import errno
import os

# What file systems say that have no locks.
_NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)


@contextlib.contextmanager
def file_lock(path):
    """Holds a lock file at `path`; the kernel frees it when a process dies.

    Where there are no locks, on Windows and some network file systems, it
    protects from nothing.

    Raises:
        BlockingIOError: If another process holds it.
    """
    with open(path, "ab") as file:
        if not _try_lock(file, path):
            raise BlockingIOError(
                f"Another process is at work: it holds '{path}'."
            )
        yield


def _try_lock(file, path):
    try:
        import fcntl
    except ImportError:  # Windows.
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Its last holder may have removed it since it was opened.
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return True
