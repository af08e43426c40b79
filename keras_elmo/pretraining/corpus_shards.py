"""The shards of a training corpus: its files, one sentence per line."""

import codecs
import glob
import gzip
import mmap
import os
import stat
from collections.abc import Iterable

import numpy as np

from keras_elmo.text.corpora import check_file
from keras_elmo.text.corpora import decode_line
from keras_elmo.text.corpora import open_unpacked

_NEWLINE = ord("\n")
_CHUNK = 1 << 22


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
        ValueError: If a path is a folder, or `paths` is empty.
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
            check_file(match)
        found.update(matches)
    if not found:
        raise ValueError(
            "`paths` must name at least one corpus file. Received: none"
        )
    files: dict[str, str] = {}
    for path in sorted(found):
        files.setdefault(os.path.realpath(path), path)
    return list(files.values())


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
    sentences = []
    for path in shards:
        lines = ShardLines(path)
        sentences += [lines[i] for i in range(len(lines))]
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
    words. The starts of the lines (8 bytes each) are kept in memory, as is the
    text of a gzip file; a plain file is memory-mapped.

    Args:
        path: Path of the file, plain or gzip.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is a folder or a corrupt gzip file; or, for an index,
            if the sentence is not UTF-8.

    Example:

    >>> with open("shard.txt", "w") as file:
    ...     _ = file.write("First sentence .\n\nAnother .\n")
    >>> lines = ShardLines("shard.txt")
    >>> len(lines), lines[2]
    (3, [b'Another', b'.'])
    """

    def __init__(self, path: str | os.PathLike):
        self.path = os.fspath(path)
        check_file(self.path)
        self._text = _text(self.path)
        self.size = len(self._text)
        """How many bytes of text there are, unpacked."""
        self._starts = _line_starts(self._text)

    def __len__(self):
        return len(self._starts) - 1

    def __getitem__(self, index: int) -> list[bytes]:
        if not 0 <= index < len(self):
            raise IndexError(
                f"'{self.path}' has {len(self)} sentences. Received: {index}"
            )
        self._check_size()
        start, end = self._starts[index : index + 2].tolist()
        line = self._text[start:end]
        decode_line(line, self.path, index + 1, start)
        return line.split()

    def _check_size(self):
        # Reading past the end of a mapped file would kill the process.
        if not isinstance(self._text, bytes) and self._text.size() < self.size:
            raise ValueError(
                f"'{self.path}' was truncated while it was in use: it had "
                f"{self.size} bytes and now has {self._text.size()}."
            )


def _text(path):
    """Returns the bytes of a file, unpacked."""
    with open_unpacked(path) as file:
        if isinstance(file, gzip.GzipFile):
            return file.read()
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            return file.read()  # A pipe cannot be mapped.
        if status.st_size == 0:
            return b""  # An empty file cannot be mapped.
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _line_starts(text):
    """Returns each line's start and the last line's end: `(lines + 1,)`."""
    mark = codecs.BOM_UTF8
    first = len(mark) if text[: len(mark)] == mark else 0
    starts = [np.array([first], "int64")]
    for offset in range(first, len(text), _CHUNK):
        size = min(_CHUNK, len(text) - offset)
        chunk = np.frombuffer(text, "uint8", size, offset)
        starts.append(np.flatnonzero(chunk == _NEWLINE) + (offset + 1))
    if starts[-1].size == 0 or starts[-1][-1] != len(text):
        starts.append(np.array([len(text)], "int64"))
    return np.concatenate(starts)
