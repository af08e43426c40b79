"""Exchanges two folders."""

import contextlib
import ctypes
import errno
import os
import re
import shutil

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
# Errors of systems that cannot do it in one step.
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


def exchange(one, other):
    """Exchanges two folders, atomically if the system can.

    Linux can on most file systems, although Python has no function for it.
    Elsewhere, there is a moment in which nothing is at `other`.
    """
    try:
        _exchange_in_one_step(one, other)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        _exchange_in_steps(one, other)


def restore_exchanged(path):
    """Restores the folder at `path` if an exchange was killed halfway.

    The exchange was with a folder beside it named `.{name}.{8 characters}`.
    """
    folder, name = os.path.split(os.path.abspath(path))
    pattern = re.compile(rf"\.{re.escape(name)}\.\w{{8}}\.old")
    with contextlib.suppress(OSError):
        for old in filter(pattern.fullmatch, os.listdir(folder)):
            old = os.path.join(folder, old)
            if os.path.exists(path):
                shutil.rmtree(old)
            else:
                os.rename(old, path)


def _exchange_in_one_step(one, other):
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, TypeError, AttributeError) as error:
        raise OSError(errno.ENOSYS, "There is no renameat2") from error
    paths = [_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other)]
    if rename(*paths, _RENAME_EXCHANGE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), other)


def _exchange_in_steps(one, other):
    between = f"{one}.old"
    os.rename(other, between)
    try:
        os.rename(one, other)
    except BaseException:
        os.rename(between, other)
        raise
    os.rename(between, one)
