"""Cuts a text into windows for evaluation, without leaving anything out."""

import itertools
from typing import NamedTuple

import numpy as np

from keras_elmo.pretraining.token_streams import DIRECTIONS
from keras_elmo.pretraining.token_streams import stream_pairs
from keras_elmo.text.spelling import UNKNOWN

_SORTED_SENTENCES = 4096


class TextWindow(NamedTuple):
    """Words in reading order, forward direction first."""

    inputs: np.ndarray
    """bytes objects `(2, rows, steps)`"""
    targets: np.ndarray
    """bytes objects `(2, rows, steps)`"""
    is_real: np.ndarray
    """bool `(rows, steps)`, `False` after the end of a row"""


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
    sentences = iter(sentences)
    pending = [_Pairs() for _ in range(rows)]
    while True:
        for row in pending:
            while len(row) < steps:
                sentence = next(sentences, None)
                if sentence is None:
                    break
                row.add(sentence)
        if not any(len(row) for row in pending):
            return
        yield _window([row.take(steps) for row in pending], steps)


def sentence_windows(sentences, max_tokens):
    """Puts sentences of similar length into windows, one sentence per row.

    Args:
        sentences: As for `stream_windows`.
        max_tokens: Integer, the maximum number of tokens in a window, with
            padding. A longer sentence has a window to itself.

    Yields:
        `TextWindow`s.
    """
    sentences = iter(sentences)
    while chunk := list(itertools.islice(sentences, _SORTED_SENTENCES)):
        rows = []
        for sentence in sorted(chunk, key=len):
            steps = len(sentence) + 1
            if rows and (len(rows) + 1) * steps > max_tokens:
                yield _window(rows, max(map(_length, rows)))
                rows = []
            pairs = _Pairs()
            pairs.add(sentence)
            rows.append(pairs.take(steps))
        yield _window(rows, max(map(_length, rows)))


class _Pairs:
    """Inputs and targets of both directions, laid end to end."""

    def __init__(self):
        # forward inputs, forward targets, backward inputs, backward targets
        self._words = [[], [], [], []]

    def __len__(self):
        return len(self._words[0])

    def add(self, sentence):
        pairs = (stream_pairs(sentence, d) for d in DIRECTIONS)
        for words, new in zip(self._words, itertools.chain(*pairs)):
            words.extend(new)

    def take(self, steps):
        taken = [words[:steps] for words in self._words]
        self._words = [words[steps:] for words in self._words]
        return taken


def _length(row):
    return len(row[0])


def _window(rows, steps):
    words = np.full((4, len(rows), steps), UNKNOWN, dtype=object)
    is_real = np.zeros((len(rows), steps), "bool")
    for i, row in enumerate(rows):
        is_real[i, : _length(row)] = True
        for part, taken in zip(words, row):
            part[i, : len(taken)] = taken
    return TextWindow(words[0::2], words[1::2], is_real)
