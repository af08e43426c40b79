"""Disks that are full."""

import contextlib
import errno

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
