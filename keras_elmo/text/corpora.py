"""Corpora: sentences as tokens, read from a file one at a time."""

import codecs
import collections
import contextlib
import functools
import gzip
import io
import itertools
import os
import re
import sys
import zlib
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from typing import NamedTuple

from keras_elmo.checks import check_choice
from keras_elmo.checks import did_you_mean
from keras_elmo.checks import needs_packages
from keras_elmo.choices import CORPUS_FORMATS
from keras_elmo.choices import STANDARD_STREAM
from keras_elmo.files.untrusted_files import UntrustedFile

_GZIP = b"\x1f\x8b"

# Bytes of a line.
_LONGEST = 1 << 26

# ASCII's white space parts tokens, as in `bytes.split` and `tf.strings.split`.
TOKEN = re.compile(r"[^ \t\n\r\v\f]+")

# The ID of a word, a multiword token or an empty node of CoNLL-U.
_ID = re.compile(r"[0-9]+([-.][0-9]+)?")


class Sentence(NamedTuple):
    """A tokenised sentence."""

    text: str
    """The line of the file; else, the tokens joined by single spaces."""
    tokens: list[str]


def read_corpus(
    path: str | os.PathLike, format: str | None = None
) -> Iterator[Sentence]:
    r"""Reads a corpus of any size, sentence by sentence.

    The file has one of three formats:

    - `"text"`: one sentence per line, with tokens separated by spaces, tabs or
      other white space of ASCII. Only `"\n"` and `"\r\n"` end a line. An empty
      line is a sentence without tokens.
    - `"conllu"`: the FORM column of
      [CoNLL-U](https://universaldependencies.org/format.html). Multiword-token
      ranges and empty nodes are left out.
    - `"raw"`: English as people write it. The package spaCy (`pip install
      spacy`) divides each line into sentences and tokens, by rules: `"They
      can't."` becomes `["They", "ca", "n't", "."]`.

    All are UTF-8, with or without a byte order mark, plain or gzip.

    Args:
        path: Path of the file, or `"-"` for standard input.
        format: `"text"`, `"conllu"` or `"raw"`. By default it depends on the
            file name: `.conllu` and `.conllu.gz` are CoNLL-U, all others text.

    Returns:
        An iterator of named tuples: `tokens` is the list of a sentence's
        tokens, and `text` its line, or the tokens joined by spaces if a line of
        the file is not a sentence.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If an argument is invalid; or, while reading, if the file is
            not UTF-8, a gzip file is corrupt or truncated, or a line is not
            CoNLL-U.
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
    format = guess_format(path) if format is None else format
    check_choice("format", format, CORPUS_FORMATS)
    if path != STANDARD_STREAM:
        check_file(path)
    lines = map(bytes.decode, checked_lines(path))
    if format == "raw":
        return _raw(lines)
    return text_sentences(lines) if format == "text" else _conllu(lines, path)


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


def _raw(lines):
    """Yields the `Sentence`s in each line of English."""
    with needs_packages("Dividing raw text into words", "spacy"):
        import spacy
    nlp = spacy.blank("en")
    nlp.max_length = _LONGEST
    nlp.add_pipe("sentencizer")
    for document in nlp.pipe(lines):
        for sentence in document.sents:
            tokens = [x.text for x in sentence if not x.is_space]
            if tokens:
                yield Sentence(" ".join(tokens), tokens)


def _conllu(lines, path):
    """Yields the `Sentence` of each block of lines of CoNLL-U."""
    for rows in blocks_of_rows(lines, functools.partial(parse_conllu, path)):
        tokens = [columns[1] for _, columns in rows]
        yield Sentence(" ".join(tokens), tokens)


def blocks_of_rows(lines, parse):
    """Yields the rows of each block of lines, between empty lines.

    Args:
        lines: Iterable of strings.
        parse: From a line and its number to its columns, or to `None` for a
            line that is no row.

    Returns:
        An iterator of lists of `(number, columns)`.
    """
    rows: list | None = None  # None between two blocks.
    for number, line in enumerate(itertools.chain(lines, [""]), start=1):
        line = line.rstrip("\r\n")
        if line.strip():
            rows = [] if rows is None else rows
            if columns := parse(line, number):
                rows.append((number, columns))
        elif rows is not None:
            yield rows
            rows = None


def parse_conllu(path, line, number):
    """Returns the columns of a word of CoNLL-U, or `None`."""
    columns = line.split("\t")
    if line.startswith("#"):
        _, is_there, names = line.partition("global.columns =")
        is_right = not is_there or names.split()[:2] == ["ID", "FORM"]
    else:
        is_right = _ID.fullmatch(columns[0]) and columns[1:2] not in ([], [""])
    if not is_right:
        raise ValueError(
            f"'{path}' is not CoNLL-U in line {number}: its columns must "
            "be separated by tabs, and the first two be ID and FORM. "
            f"Received: {line!r}"
        )
    return columns if columns[0].isdigit() else None


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
    # Whoever calls this reads no standard input.
    if path == STANDARD_STREAM or not os.path.exists(path):
        raise FileNotFoundError(
            f"There is no {what} file '{path}'.{did_you_mean(path)}"
        )


def checked_lines(path):
    """Yields the lines of a file as bytes of UTF-8, with their ends.

    A byte order mark at the start is left out.

    Raises:
        ValueError: If a line is not UTF-8, or is longer than that of any text.
            A small gzip file may unpack to one that no memory can hold.
    """
    start = 0
    with open_unpacked(path) as file:
        lines = iter(functools.partial(file.readline, _LONGEST + 1), b"")
        for number, line in enumerate(lines, start=1):
            if len(line) > _LONGEST:
                raise ValueError(
                    f"'{path}' must be text, with a sentence in each line. "
                    f"Received: more than {_LONGEST:,} bytes in line {number}"
                )
            body = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            end = start + len(line)
            if body:
                check_utf8(body, path, number, end - len(body))
                yield body
            start = end


def check_utf8(line, path, number, start):
    """Raises `ValueError` if a line of a corpus is not UTF-8.

    Args:
        line: Bytes.
        path: The file's name in messages.
        number: The line's number, from 1.
        start: The line's position in the unpacked text, in bytes from 0.
    """
    try:
        line.decode()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"'{path}' must be UTF-8. Convert it first: if it is Latin-1, with "
            "`iconv -f latin1 -t utf-8`, and to leave out what is not UTF-8, "
            "with `iconv -c -f utf-8 -t utf-8`. Received: "
            f"{line[error.start : error.end]!r} in line {number}, at byte "
            f"{start + error.start} of the text, from 0"
        ) from error


def count_words(
    paths: Iterable[str | os.PathLike], on_progress: Callable | None = None
) -> tuple[collections.Counter[bytes], int, int]:
    """Counts the words of a corpus in several files, one sentence per line.

    Args:
        paths: Iterable of the files' paths, plain or gzip.
        on_progress: Function that is called regularly with the number of
            sentences and of tokens so far.

    Returns:
        A tuple: a `collections.Counter` of the words (bytes), the number of
        sentences and the number of tokens.

    Raises:
        ValueError: If a file is not UTF-8.
    """
    counts: collections.Counter[bytes] = collections.Counter()
    sentences = tokens = 0
    for path in paths:
        check_file(path)
        for line in checked_lines(os.fspath(path)):
            words = line.split()
            counts.update(words)
            tokens += len(words)
            sentences += 1
            if on_progress is not None and sentences % 10_000 == 0:
                on_progress(sentences, tokens)
    if on_progress is not None:
        on_progress(sentences, tokens)
    return counts, sentences, tokens


@contextlib.contextmanager
def open_unpacked(path, content=None):
    """Opens a file, or standard input, to read the bytes of its text.

    Args:
        path: Path of the file, or `"-"`; with `content`, its name in messages.
        content: The bytes of the file, if they have been read already.

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
            file = stack.enter_context(open(path, "rb"))
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
