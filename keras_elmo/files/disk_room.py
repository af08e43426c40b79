"""Full disks."""

import contextlib
import errno

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def explain_full_disk(where, advice):
    """Context manager that makes the error of a full disk say what to do.

    Args:
        where: What there is no room for, such as "to write 'a'".
        advice: Function that returns further sentences for the message.
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
