"""The shards of a training corpus: its files, one sentence per line."""

import codecs
import glob
import gzip
import mmap
import os
from collections.abc import Iterable

import numpy as np

from keras_elmo.text import text_kinds
from keras_elmo.text.corpora import check_file
from keras_elmo.text.corpora import check_utf8
from keras_elmo.text.corpora import open_unpacked
from keras_elmo.text.corpora import text_lines


def find_shards(
    paths: str | os.PathLike | Iterable[str | os.PathLike],
) -> list[str]:
    """Finds the files of a corpus.

    Args:
        paths: Path or glob pattern (such as `"corpus/*.txt"`; `**` matches
            folders at any depth), or an iterable of these.

    Returns:
        Sorted list of paths of distinct files: of several paths of one file,
        such as a link to it, the first.

    Raises:
        FileNotFoundError: If a file does not exist or a pattern matches
            nothing.
        ValueError: If a path is a folder.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    found: set[str] = set()
    for path in paths:
        path = os.fspath(path)
        # A file name may look like a pattern.
        literal = os.path.exists(path)
        matches = [path] if literal else glob.glob(path, recursive=True)
        if not matches:
            raise FileNotFoundError(
                f"There is no corpus file '{path}', and no match for it."
            )
        for match in matches:
            check_file(match, hint=f". Its files: '{os.path.join(match, '*')}'")
        found.update(matches)
    # Of several paths of one file, the first.
    paths = sorted(found, reverse=True)
    return sorted({os.path.realpath(path): path for path in paths}.values())


def read_sentences(
    paths: str | os.PathLike | Iterable[str | os.PathLike],
) -> list[list[bytes]]:
    """Returns all sentences of a corpus, each a list of words.

    Args:
        paths: As for `find_shards`, which also sets the order of the files.

    Raises:
        FileNotFoundError: As for `find_shards`.
        ValueError: As for `find_shards`, or if there is no sentence or one is
            not UTF-8.
    """
    shards = find_shards(paths)
    sentences = [line.split() for path in shards for line in text_lines(path)]
    if not sentences:
        raise ValueError(
            "A text must have at least one sentence. Received: empty files "
            f"{shards}"
        )
    return sentences


class ShardLines:
    r"""The sentences of a shard, by index.

    A line ends at `"\n"` or `"\r\n"`; words are separated by white space of
    ASCII and are the bytes of the file. An empty line is a sentence without
    words. Of CoNLL-U, the sentences are those of `read_corpus`. The starts of
    the lines (8 bytes each) are kept in memory, as is the text of a gzip or
    CoNLL-U file; a plain text is memory-mapped.

    Args:
        path: Path of the file, plain or gzip.

    Raises:
        OSError: If there is no such file.
        ValueError: If it is a corrupt gzip file; or, for an index, if the
            sentence is not UTF-8.

    Example:

    >>> with open("shard.txt", "w") as file:
    ...     _ = file.write("First sentence .\n\nAnother .\n")
    >>> lines = ShardLines("shard.txt")
    >>> len(lines), lines[2]
    (3, [b'Another', b'.'])
    """

    def __init__(self, path: str | os.PathLike):
        self.path = os.fspath(path)
        self._text = _text(self.path)
        self._starts = np.fromiter(_line_starts(self._text), "int64")

    def __len__(self):
        return len(self._starts) - 1

    def __getitem__(self, index: int) -> list[bytes]:
        if not 0 <= index < len(self):
            raise IndexError(
                f"'{self.path}' has {len(self)} sentences. Received: {index}"
            )
        text = self._text
        # Reading past the end of a mapped file would kill the process.
        if isinstance(text, mmap.mmap) and text.size() < len(text):
            raise ValueError(
                f"'{self.path}' was truncated while it was in use: it had "
                f"{len(text)} bytes and now has {text.size()}."
            )
        start, end = self._starts[index : index + 2].tolist()
        line = text[start:end]
        check_utf8(line, self.path, index + 1, start)
        return line.split()


def _text(path):
    """Returns the bytes of a file, unpacked; of CoNLL-U, its `text_lines`."""
    with open_unpacked(path) as file:
        # Neither a pipe nor an empty file can be mapped.
        if isinstance(file, gzip.GzipFile) or not os.path.getsize(path):
            text = file.read()
        else:
            text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    start = text[: 2 * text_kinds.BEGINNING]
    if text_kinds.guess_format(path, start) == "text":
        return text
    return b"".join(text_lines(path))


def _line_starts(text):
    """Yields each line's start, and then the last line's end."""
    mark = codecs.BOM_UTF8
    start = len(mark) if text[: len(mark)] == mark else 0
    yield start
    while start < len(text):
        start = text.find(b"\n", start) + 1 or len(text)
        yield start
