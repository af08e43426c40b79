"""Files of word vectors: the formats of GloVe, word2vec and fastText."""

import array
import itertools
import math
import os
import re
import struct
import warnings

import numpy as np

from keras_elmo.files.untrusted_files import bounded_lines
from keras_elmo.files.untrusted_files import describe_mistaken
from keras_elmo.files.untrusted_files import most_unpacked
from keras_elmo.text.text_files import check_file
from keras_elmo.text.text_files import open_unpacked

# Far more than any has, so that a corrupt file is rejected.
MOST_NUMBERS, _LONGEST_WORD = 10_000, 1 << 16
# How many times as large as those of most vectors a number may be: 4 times, in
# GloVe's 6B. One that is out of all proportion would make the others tiny when
# all are divided by their standard deviation.
_LARGE = 1000
# The first line of word2vec's and fastText's files: how many words, numbers.
_HEADER = re.compile(rb"([0-9]+)[ \t]+([0-9]+)[ \t]*\r?\n")
# A word and its first two numbers, in text.
_TEXT = re.compile(
    rb"[^ \t\n]+([ \t]+[-+]?[0-9.]+([eE][-+]?[0-9]+)?){2}[ \t\r\n]"
)
_MISTAKEN = {
    b"PK": "it is a zip archive: unpack it",
    b"\x80": "it is a Python pickle, as gensim writes it: save the vectors "
    "with its method `save_word2vec_format`",
    b"\xba\x16O/": "it is a whole model of fastText: take its .vec file",
}


def read_word_vectors(path, max_words, on_word=None):
    """Reads the first words of a file, and their vectors.

    Args:
        path: Path of a text file of GloVe, word2vec or fastText, or of a binary
            file of word2vec, plain or .gz.
        max_words: Integer, how many words to read.
        on_word: Function that is called after each word, or `None`.

    Returns:
        A list of words, each bytes, and a float32 array `(words, numbers)`.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is something else, or is corrupt or truncated.
    """
    path = os.fspath(path)
    check_file(path, "word vector")
    words, numbers = [], array.array("f")
    with open_unpacked(path) as file:
        start = file.peek(512).removeprefix(b"\xef\xbb\xbf")
        what = [x for mark, x in _MISTAKEN.items() if start.startswith(mark)]
        if what := describe_mistaken(start) or "".join(what):
            raise ValueError(f"'{path}' has no word vectors: {what}.")
        total, size, rows = _rows(file, path)
        for word, row in itertools.islice(rows, max_words):
            words.append(word)
            numbers.extend(row)
            if on_word:
                on_word()
    if len(words) < min(total or 1, max_words):
        told = f"'{path}' ends after {len(words):,} of {total or 1:,} words"
        if not words:
            raise ValueError(f"{told}.")
        warnings.warn(f"{told}. Is it complete?", stacklevel=3)
    odd = sum(x != x.decode("utf-8", "ignore").encode() for x in words)
    if odd > len(words) / 100:
        raise ValueError(
            f"The words in '{path}' must be in UTF-8. If it is text, convert it"
            " first, for example with `iconv -f latin1 -t utf-8`. If it is "
            "binary, its first line may give a wrong size of the vectors."
        )
    vectors = np.frombuffer(numbers, "float32").reshape(-1, size)
    sizes = np.abs(vectors).max(axis=1)
    largest = sizes.argmax()
    if sizes.any() and sizes[largest] > _LARGE * np.median(sizes[sizes > 0]):
        raise ValueError(
            f"The vectors in '{path}' must be of similar size. Received: a "
            f"number of {sizes[largest]:.3g} for the word "
            f"{words[largest].decode(errors='replace')!r}"
        )
    # Above 2**24, all numbers of float32 are whole.
    if sizes[largest] < 2**24 and (vectors == np.rint(vectors)).all():
        warnings.warn(
            f"All numbers in '{path}' are whole. Are they vectors, and not "
            "counts?",
            stacklevel=3,
        )
    return words, vectors


def _rows(file, path):
    """Returns how many words a file says it has, the size of a vector, and an
    iterator of rows.

    The first is `None` if the file does not begin with it. A row is a word, and
    an iterable of its numbers.
    """
    lines = bounded_lines(file, os.path.getsize(path))
    first = next(lines, b"").removeprefix(b"\xef\xbb\xbf")
    total, size, before = None, len(first.split()) - 1, [first]
    if header := _HEADER.fullmatch(first):
        total, size, before = int(header[1]), int(header[2]), []
    if not 2 <= size <= MOST_NUMBERS:
        raise _error(path, 1, first)
    if header and not _TEXT.match(file.peek(_LONGEST_WORD)):
        if 4 * size * total > most_unpacked(os.path.getsize(path)):
            raise ValueError(f"'{path}' is truncated: it begins with {first!r}")
        return total, size, _binary_rows(file, path, total, size)
    lines = enumerate(itertools.chain(before, lines), start=2 - len(before))
    return total, size, _text_rows(lines, path, size)


def _text_rows(lines, path, size):
    for number, line in lines:
        # Some of GloVe's words have spaces in them, but not before numbers.
        word, *row = line.rsplit(None, size) or [b""]
        try:
            row = array.array("f", map(float, row))
            is_right = len(row) == size and math.isfinite(sum(row))
        except ValueError:
            is_right = False
        if is_right and not any(map(_is_number, word.split()[1:])):
            yield word.strip(), row
        elif line.strip():
            raise _error(path, number, line, size)


def _is_number(text):
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _binary_rows(file, path, total, size):
    for number in range(1, total + 1):
        word = b""
        while not word.endswith(b" ") and len(word) < _LONGEST_WORD:
            word += file.read(1) or b" "
        row = file.read(4 * size)
        if len(row) < 4 * size:
            raise ValueError(
                f"'{path}' must have text with vectors after its first line, "
                "or be a binary file of word2vec. Received: something else, or "
                f"one that is truncated: it ends in word {number:,} of "
                f"{total:,}"
            )
        yield word.strip(), struct.unpack(f"<{size}f", row)


def _error(path, number, line, size=None):
    expected = f"{size} finite numbers" if size else "at least two numbers"
    return ValueError(
        f"'{path}', line {number:,}: a file of word vectors must have a word "
        f"and {expected} in each line, separated by spaces, as GloVe's, "
        "word2vec's and fastText's (.vec) have. "
        f"Received: {line[:60]!r}"
    )
