"""Cuts a text into windows for evaluation, without leaving anything out."""

import itertools
from typing import NamedTuple

import numpy as np

from keras_elmo.choices import DIRECTIONS
from keras_elmo.pretraining.token_streams import stream_pairs
from keras_elmo.text.token_indexer import UNKNOWN_WORD

_SORTED_SENTENCES = 4096


class TextWindow(NamedTuple):
    """Words in reading order, forward direction first."""

    inputs: np.ndarray
    """bytes objects `(2, rows, steps)`"""
    targets: np.ndarray
    """bytes objects `(2, rows, steps)`"""
    is_real: np.ndarray
    """bool `(rows, steps)`, `False` after the end of a row"""
    places: list[int] | None = None
    """The place of each row's sentence in the text, if a row is a sentence"""


def stream_windows(sentences, rows, steps):
    """Lays sentences end to end in rows, and cuts them into windows.

    Args:
        sentences: Iterable of sentences, each a list of words.
        rows: Integer, the number of rows. When a row's sentence ends, the row
            takes the next sentence of the text.
        steps: Integer, the width of a window.

    Yields:
        `TextWindow`s; each row continues where it stopped in the last window.
    """
    tokens = map(_tokens, sentences)
    pending = [[] for _ in range(rows)]
    while True:
        for row in pending:
            while len(row) < steps and (new := next(tokens, None)):
                row += new
        if not any(pending):
            return
        yield _window([row[:steps] for row in pending], steps)
        pending = [row[steps:] for row in pending]


def sentence_windows(sentences, max_tokens):
    """Puts sentences of similar length into windows, one sentence per row.

    Args:
        sentences: As for `stream_windows`.
        max_tokens: Integer, the maximum number of tokens in a window, with
            padding. A longer sentence has a window to itself.

    Yields:
        `TextWindow`s.
    """
    tokens = enumerate(map(_tokens, sentences))
    while chunk := list(itertools.islice(tokens, _SORTED_SENTENCES)):
        rows, places = [], []
        for place, row in sorted(chunk, key=lambda item: len(item[1])):
            if rows and (len(rows) + 1) * len(row) > max_tokens:
                yield _window(rows, len(rows[-1]), places)
                rows, places = [], []
            rows.append(row)
            places.append(place)
        yield _window(rows, len(rows[-1]), places)


def _tokens(sentence):
    """Returns each token's input and target, forward and then backward."""
    pairs = (stream_pairs(sentence, direction) for direction in DIRECTIONS)
    return [(*forward, *backward) for forward, backward in zip(*pairs)]


def _window(rows, steps, places=None):
    words = np.full((len(rows), steps, 4), UNKNOWN_WORD, dtype=object)
    is_real = np.zeros((len(rows), steps), "bool")
    for i, row in enumerate(rows):
        if row:
            words[i, : len(row)] = row
            is_real[i, : len(row)] = True
    words = np.moveaxis(words, -1, 0)  # (4, rows, steps)
    return TextWindow(words[0::2], words[1::2], is_real, places)
