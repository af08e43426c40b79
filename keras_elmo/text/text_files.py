"""Files of text, plain or gzip, and standard input: their lines, checked."""

import codecs
import contextlib
import functools
import gzip
import io
import itertools
import os
import re
import sys
import zlib

from keras_elmo.checks import did_you_mean
from keras_elmo.choices import STANDARD_STREAM
from keras_elmo.files.untrusted_files import UntrustedFile
from keras_elmo.text import text_kinds

# Bytes of a line.
LONGEST_LINE = 1 << 26

_GZIP = b"\x1f\x8b"

# A line that could be in Latin-1, or in Windows-1252, which includes it.
_LATIN = re.compile(rb"[^\0-\x08\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]*")


class TextFile:
    """An open text: what it is, by its first kilobytes, and all its lines.

    Args:
        path: Path of the file, or `"-"` for standard input.
        on_read: As for `open_unpacked`.

    Attributes:
        path: String, the path, for messages.
        kind: Its `TextKind`.
        start: Bytes, its first lines.

    Raises:
        ValueError: As `checked_lines`, now and while lines are read.
    """

    def __init__(self, path, on_read=None):
        self.path = os.fspath(path)
        lines, start = checked_lines(self.path, on_read), b""
        while len(start) < text_kinds.BEGINNING and (line := next(lines, b"")):
            start += line
        self.start = start
        self.kind = text_kinds.find_kind(self.path, start)
        self._lines = itertools.chain(io.BytesIO(start), lines)

    def byte_lines(self):
        """Returns an iterator of the lines as bytes, with their ends."""
        return self._lines

    def lines(self):
        """Returns an iterator of the lines as strings, with their ends."""
        return map(bytes.decode, self._lines)


def check_file(path, what="corpus", hint=""):
    """Raises an error unless there is a file at `path`."""
    if os.path.isdir(path):
        raise ValueError(
            f"A {what} must be a file. Received a folder: '{path}'{hint}"
        )
    # Callers take the path of a file only, but what opens it would read
    # standard input for "-". So "-" is refused, even if a file has that name.
    if path == STANDARD_STREAM or not os.path.exists(path):
        raise FileNotFoundError(
            f"There is no {what} file '{path}'.{did_you_mean(path)}"
        )


def checked_lines(path, on_read=None):
    """Yields the lines of a file as bytes of UTF-8, with their ends.

    A byte order mark at the start is left out. `on_read` is as for
    `open_unpacked`.

    Raises:
        ValueError: If the file is binary, as `refuse_binary` finds; or if a
            line is not UTF-8, or is longer than that of any text.
            A small gzip file may unpack to one that no memory can hold.
    """
    end = 0
    with open_unpacked(path, on_read=on_read) as file:
        text_kinds.refuse_binary(file.peek(text_kinds.BEGINNING), path)
        lines = iter(functools.partial(file.readline, LONGEST_LINE + 1), b"")
        for number, line in enumerate(lines, start=1):
            if len(line) > LONGEST_LINE:
                raise ValueError(
                    f"'{path}' must be text, with a sentence in each line. "
                    f"Received: more than {LONGEST_LINE:,} bytes in line "
                    f"{number}"
                )
            end += len(line)
            body = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if body:
                try:
                    body.decode()
                except UnicodeDecodeError as error:
                    start = end - len(body) + error.start
                    raise _not_utf8(error, path, number, start) from error
                yield body


def _not_utf8(error, path, number, start):
    """Returns the error of a line that is not UTF-8.

    Args:
        error: The `UnicodeDecodeError`.
        path: The file's name in messages.
        number: The line's number, from 1.
        start: The position in the unpacked text, in bytes from 0.
    """
    names = "cp1252", "Latin-1 or Windows-1252"
    if not _LATIN.fullmatch(error.object):
        names = "ENCODING", "in another ENCODING"
    return ValueError(
        f"'{path}' must be UTF-8. Convert it first: if it is {names[1]}, with "
        f"`iconv -f {names[0]} -t utf-8`, and to leave out what is not UTF-8, "
        "with `iconv -c -f utf-8 -t utf-8`. Received: "
        f"{error.object[error.start : error.end]!r} in line {number}, at byte "
        f"{start} of the text, from 0"
    )


class _WatchedFile(io.FileIO):
    """A file that tells what is read from it."""

    def __init__(self, path, on_read):
        super().__init__(path)
        self._on_read = on_read

    def readinto(self, buffer):
        size = super().readinto(buffer)
        self._on_read(memoryview(buffer)[:size])
        return size


@contextlib.contextmanager
def open_unpacked(path, content=None, on_read=None):
    """Opens a file, or standard input, to read the bytes of its text.

    Args:
        path: Path of the file, or `"-"`; with `content`, its name in messages.
        content: The bytes of the file, if they have been read already.
        on_read: Function that is called with the bytes of the file, as they are
            before they are unpacked, whenever some are read; or `None`.

    Raises:
        ValueError: If it is a corrupt gzip file, or unpacks to far more than
            a caller expects (`UntrustedFile`); also while it is read.
    """
    with contextlib.ExitStack() as stack:
        if content is not None:
            file = io.BufferedReader(io.BytesIO(content))
        elif path == STANDARD_STREAM:
            file = sys.stdin.buffer
        else:
            raw = _WatchedFile(path, on_read) if on_read else io.FileIO(path)
            file = stack.enter_context(io.BufferedReader(raw))
        try:
            # No UTF-8 text starts with these two bytes.
            if file.peek(2)[:2] == _GZIP:
                file = stack.enter_context(gzip.GzipFile(fileobj=file))
            elif path.endswith(".gz"):
                raise gzip.BadGzipFile("it is not gzip, despite its name")
            yield file
        except (EOFError, zlib.error, gzip.BadGzipFile, UntrustedFile) as error:
            raise ValueError(
                f"'{path}' cannot be unpacked; it may be truncated or corrupt: "
                f"{error}"
            ) from error
