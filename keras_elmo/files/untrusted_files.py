"""Checks for untrusted files."""

import os
import stat

# Real weights and texts unpack to far less than this.
_FACTOR = 100
_ALWAYS = 1 << 28


class UntrustedFile(ValueError):
    """A rejected file; the message is a clause without the file's name."""


def check_regular(path):
    """Raises `UntrustedFile` if a path exists and is not a regular file.

    Reading a pipe or a device might block, or never end.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise UntrustedFile("it is not a regular file")


def read_regular(path):
    """Returns the bytes of a file, which must not be a pipe or a device."""
    check_regular(path)
    with open(path, "rb") as file:
        return file.read()


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
                f"its {size:,} bytes unpack to more than "
                f"{most_unpacked(size):,}"
            )
        yield line
