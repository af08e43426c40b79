"""Corpora: tokenised sentences, read from a file one at a time."""

import codecs
import contextlib
import gzip
import os
import sys
import zlib
from collections.abc import Iterable
from collections.abc import Iterator
from typing import NamedTuple

from keras_elmo.choices import CORPUS_FORMATS
from keras_elmo.files.untrusted_files import UntrustedFile
from keras_elmo.files.untrusted_files import bounded_lines
from keras_elmo.ops.arguments import check_choice
from keras_elmo.text.conllu_corpus import import_conllu
from keras_elmo.text.conllu_corpus import read_conllu

STANDARD_INPUT = "-"

_GZIP = b"\x1f\x8b"


class Sentence(NamedTuple):
    """A tokenised sentence."""

    text: str
    """The line of the file; for CoNLL-U, the tokens joined by single spaces."""
    tokens: list[str]


def read_corpus(
    path: str | os.PathLike, format: str | None = None, errors: str = "strict"
) -> Iterator[Sentence]:
    r"""Reads a corpus of any size, sentence by sentence.

    - `"text"`: one sentence per line, with tokens separated by spaces (only
      U+0020: tabs and other white space are part of a token). Only `"\n"` and
      `"\r\n"` end a line. An empty line is a sentence without tokens.
    - `"conllu"`: the FORM column of
      [CoNLL-U](https://universaldependencies.org/format.html). Multiword-token
      ranges and empty nodes are left out. Needs the package `conllu`.

    Both are UTF-8, with or without a byte order mark, plain or gzip.

    Args:
        path: Path of the file, or `"-"` for standard input.
        format: `"text"` or `"conllu"`. By default it depends on the file name:
            `.conllu` and `.conllu.gz` are CoNLL-U, all others text.
        errors: How to handle bytes that are not UTF-8: `"strict"` raises an
            error, `"replace"` replaces them with U+FFFD.

    Returns:
        An iterator of `Sentence`.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If an argument is invalid; or, while reading, if the file is
            not UTF-8, a gzip file is corrupt or truncated, or a line is not
            CoNLL-U.
        ImportError: If the file is CoNLL-U and `conllu` is not installed.

    Example:

    >>> with open("corpus.txt", "w") as file:
    ...     _ = file.write("First sentence .\n\nAnother .\n")
    >>> for sentence in read_corpus("corpus.txt"):
    ...     print(sentence.tokens)
    ['First', 'sentence', '.']
    []
    ['Another', '.']
    """
    path = os.fspath(path)
    format = guess_format(path) if format is None else format
    check_choice("format", format, CORPUS_FORMATS)
    check_choice("errors", errors, ("strict", "replace"))
    if path != STANDARD_INPUT:
        check_file(path)
    lines = _lines(path, errors)
    if format == "text":
        return (Sentence(line, _split(line)) for line in lines)
    conllu = import_conllu()
    return (Sentence(" ".join(t), t) for t in read_conllu(lines, path, conllu))


def text_sentences(lines: Iterable[str]) -> Iterator[Sentence]:
    """Yields the `Sentence` of each line of tokenised text."""
    for line in lines:
        line = _without_end(line)
        yield Sentence(line, _split(line))


def guess_format(path):
    """Returns the format of a file according to its name."""
    name = os.fspath(path).removesuffix(".gz")
    return "conllu" if name.endswith(".conllu") else "text"


def check_file(path, what="corpus"):
    """Raises an error unless there is a file at `path`."""
    if os.path.isdir(path):
        raise ValueError(
            f"A {what} must be a file. Received a folder: '{path}'"
        )
    if not os.path.exists(path):
        raise FileNotFoundError(f"There is no {what} file '{path}'.")


def _without_end(line):
    return line.removesuffix("\n").removesuffix("\r")


def _split(line):
    return [token for token in line.split(" ") if token]


def _lines(path, errors):
    """Yields the lines of a file, without their line ends."""
    offset = 0
    for number, line in enumerate(_raw_lines(path), start=1):
        has_mark = number == 1 and line.startswith(codecs.BOM_UTF8)
        body = line[len(codecs.BOM_UTF8) :] if has_mark else line
        offset += len(line)
        try:
            text = body.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise ValueError(
                f"'{path}' must be UTF-8; to read it anyway, pass "
                '`errors="replace"` (--encoding-errors replace), which '
                "replaces invalid bytes with U+FFFD. Received: "
                f"{body[error.start : error.end]!r} in line {number}, at byte "
                f"{offset - len(body) + error.start} of the text, from 0"
            ) from error
        yield _without_end(text)


def byte_lines(path):
    """Yields the lines of a file as bytes, without their line ends."""
    return _byte_lines(_raw_lines(path))


def listed_lines(path):
    """Like `byte_lines`, for a list that is kept in memory.

    Raises:
        ValueError: If it unpacks to far more than any real list.
    """
    return _byte_lines(_bounded_lines(path))


def _byte_lines(lines):
    for number, line in enumerate(lines):
        if number == 0:
            line = line.removeprefix(codecs.BOM_UTF8)
        if line:  # There may be only a byte order mark.
            yield _bytes_without_end(line)


def _bounded_lines(path):
    with open_unpacked(path) as file:
        try:
            yield from bounded_lines(file, os.path.getsize(path))
        except UntrustedFile as error:
            raise ValueError(f"'{path}' is not read: {error}.") from error


def byte_words(line):
    """Returns the words of a line of bytes, without its line end."""
    return [word for word in _bytes_without_end(line).split(b" ") if word]


def _bytes_without_end(line):
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _raw_lines(path):
    with open_unpacked(path) as file:
        yield from file


@contextlib.contextmanager
def open_unpacked(path):
    """Opens a file, or standard input, to read the bytes of its text.

    Raises:
        ValueError: If it is a corrupt gzip file; also while it is read.
    """
    try:
        with _open(path) as file:
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"'{path}' cannot be unpacked; it may be truncated or corrupt: "
            f"{error}"
        ) from error


@contextlib.contextmanager
def _open(path):
    with contextlib.ExitStack() as stack:
        if path == STANDARD_INPUT:
            file = sys.stdin.buffer
        else:
            file = stack.enter_context(open(path, "rb"))
        # No UTF-8 text starts with these two bytes.
        if file.peek(2)[:2] == _GZIP:
            file = stack.enter_context(gzip.GzipFile(fileobj=file))
        elif path.endswith(".gz"):
            raise ValueError(
                f"'{path}' is not gzip, despite its name; it may be truncated."
            )
        yield file
