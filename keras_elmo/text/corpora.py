"""Corpora: sentences as tokens, read from a file one at a time."""

import codecs
import contextlib
import functools
import gzip
import io
import itertools
import os
import re
import sys
import warnings
import zlib
from collections.abc import Iterable
from collections.abc import Iterator
from typing import NamedTuple

from keras_elmo.checks import check_choice
from keras_elmo.checks import did_you_mean
from keras_elmo.choices import CORPUS_FORMATS
from keras_elmo.choices import STANDARD_STREAM
from keras_elmo.files.untrusted_files import UntrustedFile
from keras_elmo.text import text_kinds
from keras_elmo.text.raw_text import LONGEST_LINE
from keras_elmo.text.raw_text import raw_sentences

_GZIP = b"\x1f\x8b"

# ASCII's white space parts tokens, as in `bytes.split` and `tf.strings.split`.
TOKEN = re.compile(r"[^ \t\n\r\v\f]+")

# A line that could be in Latin-1, or in Windows-1252, which includes it.
_LATIN = re.compile(rb"[^\0-\x08\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]*")

# The ID of a word, a multiword token or an empty node of CoNLL-U.
ID = re.compile(r"[0-9]+([-.][0-9]+)?")


class Sentence(NamedTuple):
    """A tokenised sentence."""

    text: str
    """The line of the file; else, the tokens joined by single spaces."""
    tokens: list[str]


class RawSentence(NamedTuple):
    """A sentence of raw text."""

    text: str
    """As it was written, with the white space after it, the end of its line
    and, if it is the first one of the line, the white space before it."""
    tokens: list[str]
    starts: list[int]
    """Where each token begins in `text`, in characters."""


def read_corpus(
    path: str | os.PathLike, format: str | None = None, language: str = "en"
) -> Iterator[Sentence]:
    r"""Reads a corpus of any size, sentence by sentence.

    The file has one of three formats:

    - `"text"`: one sentence per line, with tokens separated by spaces, tabs or
      other white space of ASCII. Only `"\n"` and `"\r\n"` end a line. An empty
      line is a sentence without tokens.
    - `"conllu"`: the FORM column of
      [CoNLL-U](https://universaldependencies.org/format.html) or CoNLL-U Plus.
      Multiword-token ranges and empty nodes are left out.
    - `"raw"`: text as people write it. Each line is divided into sentences and
      tokens as by `tokenize`: `"They can't."` becomes `["They", "ca", "n't",
      "."]`.

    All are UTF-8, with or without a byte order mark, plain or gzip.

    Args:
        path: Path of the file, or `"-"` for standard input.
        format: `"text"`, `"conllu"` or `"raw"`. By default, it is CoNLL-U if
            the file's name ends in `.conllu` or `.conllu.gz`, or if the file
            begins like CoNLL-U; all others are text. Text that begins like
            JSON or a table causes a warning, unless `format="text"` is given.
        language: String, the language of raw text, as for `tokenize`. By
            default, English.

    Returns:
        An iterator of named tuples: `tokens` is the list of a sentence's
        tokens, and `text` its line, or the tokens joined by spaces if a line of
        the file is not a sentence.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If an argument is invalid or the file is binary; or, also
            while reading, if it is not UTF-8, a gzip file is corrupt or
            truncated, or a line is not CoNLL-U.
        ImportError: If raw text is read and spaCy is not installed.

    Example:

    >>> from keras_elmo.text import read_corpus
    >>> with open("corpus.txt", "w") as file:
    ...     _ = file.write("First sentence .\n\nAnother .\n")
    >>> for sentence in read_corpus("corpus.txt"):
    ...     print(sentence.tokens)
    ['First', 'sentence', '.']
    []
    ['Another', '.']
    """
    path = os.fspath(path)
    check_choice("format", format, (None, *CORPUS_FORMATS))
    if path != STANDARD_STREAM:
        check_file(path)
    if format == "raw":
        sentences = read_raw(path, language)
        return (Sentence(" ".join(x), x) for _, x, _ in sentences if x)
    format, lines = _format_and_lines(path, format)
    lines = map(bytes.decode, lines)
    return text_sentences(lines) if format == "text" else _conllu(lines, path)


def text_lines(path, on_read=None):
    """Returns an iterator of a text's lines, as bytes with their ends.

    They are checked as by `read_corpus`. Of CoNLL-U, a line is the words of a
    sentence. `on_read` is as for `open_unpacked`.
    """
    format, lines = _format_and_lines(path, on_read=on_read)
    if format == "conllu":
        sentences = _conllu(map(bytes.decode, lines), path)
        lines = (sentence.text.encode() + b"\n" for sentence in sentences)
    return lines


def beginning(path):
    """Returns the first bytes of a file, unpacked; of standard input, none."""
    if path == STANDARD_STREAM:
        return b""
    with open_unpacked(path) as file:
        start = file.peek(text_kinds.BEGINNING)[: text_kinds.BEGINNING]
    return start.removeprefix(codecs.BOM_UTF8)


def _format_and_lines(path, format=None, on_read=None):
    """Returns a file's format, found unless it is given, and its lines.

    It warns if what is read as sentences looks like something else.
    """
    lines, start = checked_lines(path, on_read), b""
    while len(start) < text_kinds.BEGINNING and (line := next(lines, b"")):
        start += line
    found = format or text_kinds.guess_format(path, start)
    if start.strip().count(b"\r") > 1 and b"\n" not in start.strip():
        warnings.warn(
            f"'{path}' has lines that end in CR alone, and is read as one line."
            f" Convert it with: tr '\\r' '\\n' < '{path}'",
            stacklevel=2,
        )
    is_right = format == "text" or found == "conllu"
    if what := None if is_right else text_kinds.describe_columns(start):
        told = f"'{path}' looks like {what}. Write its sentences to a file."
        warnings.warn(told, stacklevel=2)
    return found, itertools.chain(io.BytesIO(start), lines)


def text_sentences(lines: Iterable[str]) -> Iterator[Sentence]:
    """Yields the `Sentence` of each line of tokenised text."""
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, str):
            raise ValueError(
                "Each line of a text must be a string (open files in text "
                f"mode). Received as line {number}: {line!r}"
            )
        if number == 1:
            line = line.removeprefix("\ufeff")
        line = line.removesuffix("\n").removesuffix("\r")
        yield Sentence(line, TOKEN.findall(line))


def read_raw(path, language):
    """Yields the `RawSentence`s of a file of text as people write it.

    A line without words is one without tokens, so that all texts, joined, are
    the text of the file.
    """
    _, lines = _format_and_lines(path, "raw")
    lines, same = itertools.tee(map(bytes.decode, lines))
    bare = (line.removesuffix("\n") for line in same)
    for line, sentences in zip(lines, raw_sentences(bare, language)):
        begins = [0, *(words[0][0] for words in sentences[1:]), len(line)]
        for (i, j), words in itertools.zip_longest(
            itertools.pairwise(begins), sentences, fillvalue=()
        ):
            tokens = [word for _, word in words]
            yield RawSentence(line[i:j], tokens, [x - i for x, _ in words])


def _conllu(lines, path):
    """Yields the `Sentence` of each block of lines of CoNLL-U."""
    for rows in blocks_of_rows(lines, functools.partial(parse_conllu, path)):
        tokens = [columns[1] for _, columns in rows]
        yield Sentence(" ".join(tokens), tokens)


def blocks_of_rows(lines, parse):
    """Yields the rows of each block of lines, between empty lines.

    Args:
        lines: Iterable of strings, with their ends.
        parse: From a line and its number to its columns, or to `None` for a
            line that is no row.

    Returns:
        An iterator of lists of `(number, columns)`.
    """
    numbered = enumerate(lines, start=1)
    for is_gap, block in itertools.groupby(numbered, lambda x: x[1].isspace()):
        if not is_gap:
            yield [
                (number, columns)
                for number, line in block
                if (columns := parse(line.rstrip("\r\n"), number))
            ]


def parse_conllu(path, line, number):
    """Returns the columns of a word of CoNLL-U, or `None`."""
    columns = line.split("\t")
    if line.startswith("#"):
        _, is_there, names = line.partition("global.columns =")
        is_right = not is_there or names.split()[:2] == ["ID", "FORM"]
    else:
        is_right = ID.fullmatch(columns[0]) and len(columns) > 1 and columns[1]
    if not is_right:
        raise ValueError(
            f"'{path}' is not CoNLL-U in line {number}: its columns must "
            "be separated by tabs, and the first two be ID and FORM. "
            f"Received: {line!r}"
        )
    return columns if columns[0].isdigit() else None


def check_file(path, what="corpus", hint=""):
    """Raises an error unless there is a file at `path`."""
    if os.path.isdir(path):
        raise ValueError(
            f"A {what} must be a file. Received a folder: '{path}'{hint}"
        )
    # Whoever calls this reads no standard input.
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
