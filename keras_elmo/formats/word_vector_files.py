"""Files of word vectors: the formats of GloVe, word2vec and fastText."""

import array
import gzip
import itertools
import math
import os
import re
import struct
import warnings

import numpy as np

from keras_elmo.files.untrusted_files import bounded_lines
from keras_elmo.files.untrusted_files import describe_mistaken
from keras_elmo.text.text_files import check_file
from keras_elmo.text.text_files import open_unpacked

# Far more than any has, so that a corrupt file is rejected.
MOST_NUMBERS, _LONGEST_WORD = 10_000, 1 << 16
# How many times as large as those of most vectors a number may be: 4 times, in
# GloVe's 6B. One that is out of all proportion would make the others tiny when
# all are divided by their standard deviation.
_LARGE = 1000
# The first line of word2vec's and fastText's files: how many words, numbers.
_HEADER = re.compile(rb"([0-9]+)[ \t]+([0-9]+)\s*")
# A control byte in a row after its word: no text has one there, and of binary
# numbers, one in five has one, so that the first rows of a file always do.
_BINARY = re.compile(rb"[ \t][^\n]*[\x00-\x08\x0e-\x1f]")
# More bytes than the words of any file have on average.
_LONG_WORD = 256
_QUOTED = re.compile(rb"b?(['\"]).+\1")
_PHRASE = (
    ". If the word is a phrase that ends in a number, write the number of words"
    " and of numbers into a first line, such as"
)
_MISTAKEN = {
    b"PK": "it is a zip archive: unpack it",
    b"\x80": "it is a Python pickle, as gensim writes it: save the vectors "
    "with its method `save_word2vec_format`",
    b"\xff\xfe": "it is UTF-16: convert it with `iconv -f utf-16 -t utf-8`",
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
        message = f"'{path}' ends after {len(words):,} of {total or 1:,} words"
        if not words:
            raise ValueError(f"{message}.")
        warnings.warn(f"{message}. Is it complete?", stacklevel=3)
    odd = [x for x in words if x != x.decode("utf-8", "ignore").encode()]
    if len(odd) > len(words) / 100:
        raise ValueError(
            f"The words in '{path}' must be in UTF-8. If it is text, convert it"
            " first, for example with `iconv -f latin1 -t utf-8`. If it is "
            "binary, its first line may give a wrong size of the vectors."
        )
    vectors = np.frombuffer(numbers, "float32").reshape(-1, size)
    sizes = np.abs(vectors).max(axis=1)
    largest = sizes.argmax()
    typical = np.median(sizes[sizes != 0]) if sizes.any() else 0
    if not sizes[largest] <= _LARGE * typical:  # Also if it is NaN.
        raise ValueError(
            f"The vectors in '{path}' must be finite and of similar size. "
            f"Received: a number of {sizes[largest]:.3g} for the word "
            f"{words[largest].decode(errors='replace')!r}"
        )
    messages = []
    if odd:
        messages.append(
            f"{len(odd)} of {len(words):,} words in '{path}', such as "
            f"{odd[0]!r}, are not UTF-8, and are never found. Write them in "
            "UTF-8 if you need them."
        )
    if all(map(_is_number, words)):
        messages.append(
            f"All words in '{path}' are numbers. Are words missing?"
        )
    # Above 2**24, all numbers of float32 are whole.
    if sizes[largest] < 2**24 and (vectors == np.rint(vectors)).all():
        messages.append(
            f"All numbers in '{path}' are whole. Are they vectors, and not "
            "counts?"
        )
    elif any(np.array_equal(vectors[0] - i, range(size)) for i in (0, 1)):
        messages.append(
            f"The first numbers in '{path}' are 0, 1, 2 or 1, 2, 3, and so on. "
            "If they are the names of columns, delete that line."
        )
    for message in messages:
        warnings.warn(message, stacklevel=3)
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
    if header and _BINARY.search(file.peek(1)):
        # The last record must end where the file ends. Reading all of them
        # shows it exactly, and the sizes do roughly.
        rest = os.path.getsize(path) - len(first)
        spare = rest - 4 * size * total
        is_packed = isinstance(file, gzip.GzipFile)
        if not is_packed and not total <= spare <= _LONG_WORD * total:
            found = f"{rest:,} bytes after that line"
            raise _binary_error(path, total, size, found)
        return total, size, _binary_rows(file, path, total, size)
    lines = enumerate(itertools.chain(before, lines), start=2 - len(before))
    return total, size, _text_rows(lines, path, size, header is not None)


def _text_rows(lines, path, size, has_header):
    for number, line in lines:
        word, *row = line.rsplit(None, size) or [b""]
        try:
            row = array.array("f", map(float, row))
            is_right = len(row) == size and math.isfinite(sum(row))
        except ValueError:
            is_right = False
        # A word may have spaces in it. If it ends in a number, the row may have
        # too many numbers, unless a header tells their size. What is wrong with
        # all rows, such as an index or quotes, shows in the first.
        parts, hint = word.split(), ""
        if number == 1 + has_header:
            is_plain = not _QUOTED.fullmatch(word)
            is_plain &= len(parts) < 2 or not any(map(_is_number, parts))
        else:
            is_plain = has_header or not any(map(_is_number, parts[1:]))
            hint = "" if is_plain else f"{_PHRASE} '1000 {size}'."
        if is_right and is_plain:
            yield word.strip(), row
        elif line.strip():
            raise _error(path, number, line, size, hint)


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
            found = f"an end in word {number:,}"
            raise _binary_error(path, total, size, found)
        yield word.strip(), struct.unpack(f"<{size}f", row)
    if file.read(2).strip():
        raise _binary_error(path, total, size, "more after the last word")


def _binary_error(path, total, size, found):
    return ValueError(
        f"'{path}' has bytes that no text has, so it must be a binary file of "
        f"word2vec with {total:,} words of {size} numbers each, as its first "
        "line says. That line is wrong, or the file is truncated or damaged. "
        f"Received: {found}"
    )


def _error(path, number, line, size=None, hint=""):
    expected = f"{size} finite numbers" if size else "at least two numbers"
    return ValueError(
        f"'{path}', line {number:,}: a file of word vectors must have a word "
        f"and {expected} in each line, separated by spaces, without an index "
        "or quotes, as GloVe's, word2vec's and fastText's (.vec) have. "
        f"Received: {line[:60]!r}{hint}"
    )
