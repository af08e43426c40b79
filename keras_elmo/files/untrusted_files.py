"""What is asked of any file before it is believed."""

import os
import stat

# Real weights and texts unpack to far less.
_FACTOR = 100
_ALWAYS = 1 << 28


class UntrustedFile(ValueError):
    """A file that is not read; the message is a clause without the name."""


def check_regular(path):
    """Raises `UntrustedFile` at what is there but no regular file.

    A pipe or a device might keep its reader waiting, or never end.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise UntrustedFile("it is not a regular file")


def read_regular(path):
    """Returns the bytes of a file, which must not be a pipe or a device."""
    check_regular(path)
    with open(path, "rb") as file:
        return file.read()


def most_unpacked(size):
    """How many bytes a file of `size` bytes may declare or unpack to."""
    return max(_ALWAYS, _FACTOR * size)


def bounded_lines(file, size):
    """Yields the lines of a file object that unpacks `size` bytes.

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
