"""Checks for untrusted files."""

import os
import re
import stat

# Real weights and texts unpack to far less than this.
_FACTOR = 100
_ALWAYS = 1 << 28

_LFS = b"version https://git-lfs.github.com/spec/"
_HTML = re.compile(rb"\s*(<!doctype html|<html)", re.IGNORECASE)


class UntrustedFile(ValueError):
    """A rejected file; the message is a clause without the file's name."""


def check_regular(path):
    """Raises `UntrustedFile` if a path exists and is not a regular file.

    Reading a pipe or a device might block, or never end.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise UntrustedFile("it is not a regular file")


def most_unpacked(size):
    """Returns the size that a file of `size` bytes may declare or unpack to."""
    return max(_ALWAYS, _FACTOR * size)


def bounded_lines(file, size):
    """Yields the lines of a file object that unpacks `size` packed bytes.

    Raises:
        UntrustedFile: Before more than `most_unpacked(size)` bytes are read.
    """
    left = most_unpacked(size)
    while line := file.readline(left + 1):
        left -= len(line)
        if left < 0:
            raise UntrustedFile(
                f"its lines unpack to more than {most_unpacked(size):,} bytes"
            )
        yield line


def describe_mistaken(start):
    """Describes what is often found instead of a model file; or `None`.

    Args:
        start: The first bytes of the file, at least a few hundred.

    Returns:
        A clause.
    """
    if not start:
        return "it is empty (0 bytes)"
    if start.startswith(_LFS):
        return (
            "it is a Git LFS pointer, not the file itself: run `git lfs pull` "
            "where it was cloned, or download the file from its page"
        )
    if _HTML.match(start):
        return (
            "it is a web page saved instead of the file, for example because "
            "the link needs a login or no longer works: open the link in a "
            "browser and download the file again"
        )
    return None
