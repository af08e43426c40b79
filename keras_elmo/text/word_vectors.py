"""Word vector files: GloVe's text, word2vec's text and binary."""

import os
import re
from collections.abc import Iterable

import numpy as np

from keras_elmo.ops.arguments import check_integer
from keras_elmo.text.corpora import open_unpacked

_HEADER = re.compile(rb"(\d+) (\d+)\s*")
# Lines of text files and words of binary files are always shorter.
_LONGEST_LINE = 1 << 22
_LONGEST_WORD = 1 << 16
_CHUNK = 1 << 20


def read_word_vectors(
    path: str | os.PathLike,
    words: Iterable[str] | None = None,
    limit: int | None = None,
    errors: str = "strict",
) -> tuple[list[str], np.ndarray]:
    r"""Reads word vectors from files of GloVe, word2vec and fastText.

    - GloVe's text format: one line per word, with the word and its numbers
      separated by spaces. A word may contain spaces.
    - word2vec's text format, and fastText's `.vec`: the same, after a line with
      the number of words and the size of a vector.
    - word2vec's binary format: the same first line; then for each word its
      bytes, a space, and 32-bit floats in little-endian order.

    The format is detected from the content; files may be plain or gzip. The
    file is read in pieces, and only the requested vectors are kept.

    Args:
        path: Path of the file.
        words: The words whose vectors to keep. All by default.
        limit: Integer, how many words of the file to read, from the first one.
            These files begin with the most frequent words.
        errors: How to handle words that are not UTF-8: `"strict"` raises an
            error, `"replace"` replaces invalid bytes with U+FFFD.

    Returns:
        The list of the words that were found, in the file's order, and their
        vectors, a float32 array `(words, dim)`. For duplicate words, the first
        vector is used.

    Raises:
        ValueError: If the file is not as described; the message states the
            line, or in a binary file the word's number and its byte offset.
        OSError: If the file cannot be read.

    Example:

    >>> with open("vectors.txt", "w") as file:
    ...     _ = file.write("the 0.5 1 0\nof 0 -1 0.25\n")
    >>> words, vectors = read_word_vectors("vectors.txt")
    >>> words, vectors.shape
    (['the', 'of'], (2, 3))
    >>> embedding = keras.layers.Embedding(*vectors.shape)
    >>> embedding.build()
    >>> embedding.set_weights([vectors])
    """
    path = os.fspath(path)
    if errors not in ("strict", "replace"):
        raise ValueError(
            '`errors` must be "strict" or "replace". '
            f"Received: errors={errors!r}"
        )
    check_integer("limit", limit, 1, optional=True)
    wanted = None if words is None else set(words)
    if isinstance(words, (str, bytes)) or not all(
        isinstance(word, str) for word in wanted or ()
    ):
        raise ValueError(
            "`words` must be a list of words, each a string. "
            f"Received: words={words!r}"
        )
    found: dict[str, None] = {}
    numbers = bytearray()
    dim = 0
    with open_unpacked(path) as file:
        for i, (place, word, read) in enumerate(_entries(file, path)):
            if limit is not None and i >= limit:
                break
            text = _decoded(path, place, word, errors)
            dim = dim or len(read())
            if text in found or (wanted is not None and text not in wanted):
                continue
            vector = read()
            if not np.isfinite(vector).all():
                _fail(path, place, "the numbers must be finite", text)
            found[text] = None
            numbers += vector.astype("<f4").tobytes()
    if not found and wanted is None:
        raise ValueError(f"'{path}' holds no word vectors.")
    vectors = np.frombuffer(numbers, "<f4").astype("float32", copy=False)
    return list(found), vectors.reshape(len(found), dim)


def _entries(file, path):
    """Yields each entry's place, word, and a function to read its vector."""
    first = file.readline(_LONGEST_LINE)
    header = _HEADER.fullmatch(first)
    if header is None:
        yield from _text_entries(path, _lines(file, first, 1), None)
        return
    count, dim = map(int, header.groups())
    if not dim:
        _fail(path, "line 1", "the vector size must be at least 1", first)
    second = file.readline(_LONGEST_LINE)
    if _is_text(second, dim):
        entries = _text_entries(path, _lines(file, second, 2), dim)
    else:
        start = len(first)
        entries = _binary_entries(path, file, second, start, count, dim)
    found = 0
    for entry in entries:
        yield entry
        found += 1
    if found != count:
        raise ValueError(
            f"'{path}' must have {count:,} words, as its first line says; it "
            f"may be truncated. Received: {found:,}"
        )


def _lines(file, line, number):
    """Yields the number of each line, and the line, from a given line."""
    while line:
        yield number, line
        number, line = number + 1, file.readline(_LONGEST_LINE)


def _is_text(line, dim):
    fields = line.rstrip().split(b" ")
    return len(fields) > dim and all(map(_is_number, fields[-dim:]))


def _text_entries(path, lines, dim):
    for number, line in lines:
        place = f"line {number}"
        # fastText ends each line with a space.
        fields = line.rstrip(b" \r\n").split(b" ")
        dim = dim or len(fields) - 1
        surplus = len(fields) - 1 - dim
        if not dim or surplus < 0 or (surplus and _is_number(fields[surplus])):
            expected = f"word and {dim} numbers" if dim else "word and numbers"
            _fail(path, place, f"there must be a {expected}", line[:80])
        word = b" ".join(fields[: surplus + 1])

        def read(fields=fields[surplus + 1 :], place=place, line=line):
            try:
                return np.array(fields, "S").astype("float32")
            except ValueError:
                reason = "the word must be followed by numbers and spaces only"
                _fail(path, place, reason, line[:80])

        yield place, word, read


def _binary_entries(path, file, data, offset, count, dim):
    """`data` is what was read last, `offset` its position in the file."""
    begin, size = 0, 4 * dim
    for number in range(1, count + 1):
        place = f"word {number:,}, at byte {offset + begin:,}"
        space = data.find(b" ", begin)
        while space < 0 or len(data) < space + 1 + size:
            if space < 0 and len(data) - begin > _LONGEST_WORD:
                received = data[begin : begin + 80]
                _fail(path, place, "there must be a word and a space", received)
            more = file.read(_CHUNK)
            if not more:
                reason = f"the file ends in this word, of {count:,} words"
                _fail(path, place, reason, data[begin : begin + 80])
            data, offset, begin = data[begin:] + more, offset + begin, 0
            space = data.find(b" ")
        # word2vec ends each vector with a line feed, gensim does not.
        word = data[begin:space].lstrip(b"\n")
        begin = space + 1 + size

        def read(data=data, start=space + 1):
            return np.frombuffer(data, "<f4", dim, start)

        yield place, word, read
    rest = (data[begin:] + file.read(_CHUNK)).strip(b"\n")
    if rest:
        place = f"byte {offset + begin:,}"
        _fail(
            path, place, f"the file must end after {count:,} words", rest[:80]
        )


def _is_number(field):
    try:
        float(field)
    except ValueError:
        return False
    return True


def _decoded(path, place, word, errors):
    try:
        return word.decode("utf-8", errors)
    except UnicodeDecodeError:
        reason = 'the word must be UTF-8 (`errors="replace"` accepts it)'
        _fail(path, place, reason, word[:80])


def _fail(path, place, reason, received):
    raise ValueError(f"'{path}', {place}: {reason}. Received: {received!r}")
