"""Reads tagged sentences from column files and CoNLL-U; makes vocabularies.

A column file has one word per line and a blank line after each sentence, as in
CoNLL-2003 and WNUT 2017. Its columns are separated by tabs or, in lines without
tabs, by spaces.
"""

import collections
import os
from typing import NamedTuple

import numpy as np

SCHEMES = ("BIO", "BIOES", "IOB1", "none")

# Columns of CoNLL-U, from 0.
_FORM, _UPOS, _CONLLU_COLUMNS = 1, 3, 10


class Sentence(NamedTuple):
    """A tagged sentence."""

    words: list[str]
    tags: list[str]
    lines: list[int]
    """The line number of each word in the file, from 1."""


def read_tagged(path, word_column=0, tag_column=-1):
    """Reads a file of tagged sentences. Files named `.conllu` are CoNLL-U.

    Args:
        path: Path of the file, in UTF-8.
        word_column: Integer, the column of the word, from 0; -1 is the last.
            In CoNLL-U it is always FORM.
        tag_column: The same for the tag. In CoNLL-U it is always UPOS.

    Returns:
        A list of `Sentence`, at least one.

    Raises:
        ValueError: If the file is not as described. The message names the file
            and the line, and says what is wrong.
    """
    is_conllu = os.fspath(path).endswith(".conllu")
    rows = _conllu_rows if is_conllu else _column_rows
    if is_conllu:
        word_column, tag_column = _FORM, _UPOS
    sentences, sentence = [], Sentence([], [], [])
    for number, fields in rows(path):
        if fields is None:
            if sentence.words:
                sentences.append(sentence)
                sentence = Sentence([], [], [])
            continue
        for name, column, values in (
            ("word", word_column, sentence.words),
            ("tag", tag_column, sentence.tags),
        ):
            if not -len(fields) <= column < len(fields):
                fail(
                    path,
                    number,
                    f"the {name} must be in column {column} (from 0), but "
                    f"there are only {len(fields)} columns",
                    fields,
                )
            if not fields[column].strip():
                fail(path, number, f"the {name} is empty", fields)
            values.append(fields[column])
        sentence.lines.append(number)
    if sentence.words:
        sentences.append(sentence)
    if not sentences:
        raise ValueError(f"'{path}' contains no tagged sentences.")
    return sentences


def as_scheme(path, sentences, scheme):
    """Checks that tags follow a scheme, and converts IOB1 to BIO.

    Args:
        path: Path of the file, for messages.
        sentences: List of `Sentence`.
        scheme: `"BIO"` and `"BIOES"` are checked. In `"IOB1"`, the scheme of
            CoNLL-2003, a span begins with `I-` unless it directly follows
            another of its type. `"none"` is for tags that are not spans.

    Returns:
        A list of `Sentence`.

    Raises:
        ValueError: If a tag violates the scheme. The message names the line.
    """
    if scheme == "none":
        return sentences
    if scheme == "IOB1":
        sentences = [s._replace(tags=_iob1_to_bio(s.tags)) for s in sentences]
        scheme = "BIO"
    for sentence in sentences:
        tags = ["O", *sentence.tags, "O"]
        for i, number in enumerate([*sentence.lines, sentence.lines[-1]]):
            reason = _wrong(*tags[i : i + 2], scheme)
            if reason:
                fail(path, number, reason, tags[1:-1][: i + 1])
    return sentences


def fail(path, number, reason, received):
    """Raises the error for a line."""
    raise ValueError(
        f"'{path}', line {number}: {reason}. Received: {received!r}"
    )


def _iob1_to_bio(tags):
    begins = [
        tag.startswith("I-") and tag[2:] != before[2:]
        for before, tag in zip(["O", *tags], tags)
    ]
    return [f"B{t[1:]}" if begin else t for t, begin in zip(tags, begins)]


def _wrong(before, tag, scheme):
    """Returns what is wrong with a tag after another, or `None`."""
    letter, _, kind = tag.partition("-")
    if tag != "O" and (letter not in [*scheme.replace("O", "")] or not kind):
        letters = ", ".join(f"'{x}-...'" for x in scheme if x != "O")
        return f"a tag of the scheme {scheme} must be 'O', {letters}"
    goes_on = before[:2] in ("B-", "I-") and before[2:] == kind
    if letter in ("I", "E") and not goes_on:
        return f"'{tag}' continues a span, but comes after '{before}'"
    must_go_on = scheme == "BIOES" and before[:2] in ("B-", "I-")
    if must_go_on and letter not in ("I", "E"):
        return f"'{tag}' comes after '{before}', whose span has not ended"
    return None


def _column_rows(path):
    """Yields the number and fields of each line; `None` for a blank line."""
    columns = None
    for number, line in _lines(path):
        if not line.strip():
            yield number, None
            continue
        fields = line.split("\t") if "\t" in line else line.split()
        if fields[0] == "-DOCSTART-":
            continue
        columns = columns or len(fields)
        if len(fields) != columns:
            reason = f"there must be {columns} columns, as in earlier lines"
            fail(path, number, reason, line)
        yield number, fields


def _conllu_rows(path):
    for number, line in _lines(path):
        if not line.strip():
            yield number, None
            continue
        if line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != _CONLLU_COLUMNS:
            reason = f"CoNLL-U has {_CONLLU_COLUMNS} columns separated by tabs"
            fail(path, number, reason, line)
        # Ranges such as 1-2 and empty nodes such as 1.1 are not words.
        if fields[0].isdigit():
            yield number, fields


def _lines(path):
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                reason = f"not UTF-8 at byte {error.start}"
                fail(path, number, reason, line)
            yield number, text.rstrip("\r\n")


def frequent_words(sentences, min_count=2):
    """Returns the lower-cased training words, most frequent first.

    Rarer words share the vector of unknown words, which is trained on them.

    Args:
        sentences: List of lists of words.
        min_count: Integer, how often a word must occur.
    """
    counts = collections.Counter(
        word.lower() for words in sentences for word in words
    )
    return [word for word, n in counts.most_common() if n >= min_count]


def read_vectors(path, limit=None):
    """Reads a text file of GloVe, word2vec or fastText.

    Args:
        path: Path of the file: a word and its numbers in each line.
        limit: Integer, how many words to read. All by default.

    Returns:
        The list of words, and their vectors, a float32 array `(words, dim)`.
    """
    vectors, dim = {}, 0
    for number, line in _lines(path):
        fields = line.rstrip().split(" ")
        if number == 1 and len(fields) == 2:
            continue  # word2vec's first line: how many words, which size.
        dim = dim or len(fields) - 1
        word = " ".join(fields[:-dim])  # GloVe has words with spaces.
        try:
            vector = np.array(fields[-dim:], "float32").reshape(dim)
        except ValueError:
            fail(path, number, f"there must be a word and {dim} numbers", line)
        vectors.setdefault(word, vector)
        if len(vectors) == limit:
            break
    return list(vectors), np.stack(list(vectors.values()))


def with_vectors(words, known, vectors, seed=0):
    """Merges a vocabulary with the words of a file of vectors.

    Args:
        words: Strings, the vocabulary.
        known: Strings, words that have vectors.
        vectors: Array `(known, dim)`.
        seed: Integer, for the vectors of the other words.

    Returns:
        The list of all words, and an array `(all words, dim)`.
    """
    has_vector = set(known)
    others = [word for word in words if word not in has_vector]
    generator = np.random.default_rng(seed)
    random = generator.normal(0, vectors.std(), (len(others), vectors.shape[1]))
    table = np.concatenate([vectors, random.astype("float32")])
    return [*known, *others], table
