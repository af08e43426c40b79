"""Cuts a text into windows, to train on it or to measure how well it is known.

Words are numbers, as in a `NumberedText`.
"""

import itertools
from typing import NamedTuple

import numpy as np

from keras_elmo.pretraining.token_streams import token_stream

_SORTED_SENTENCES = 4096
# How many tokens are laid out in rows at a time.
_LAID_OUT = 2**21


class TextWindow(NamedTuple):
    """Words in the order in which they are read, forward direction first."""

    inputs: np.ndarray
    """int32 `(2, rows, steps)`"""
    targets: np.ndarray
    """int32 `(2, rows, steps)`: the words that follow"""
    is_real: np.ndarray | None = None
    """bool `(rows, steps)`, `False` after the end of a row"""
    sentences: list[int] | None = None
    """The number of each row's sentence in the text, if a row is a sentence"""


def training_windows(text, rows, steps, seed, first=0):
    """Lays the passes over a text end to end in rows, and cuts them.

    In each direction, window `i` is the same wherever the windows begin. If a
    pass has more than one window, no two windows of the first pass have the
    same token.

    Args:
        text: The `NumberedText`.
        rows: Integer, the number of rows.
        steps: Integer, the width of a window.
        seed: Integer, the seed of the orders of the sentences.
        first: Integer, the number of the first window.

    Yields:
        `TextWindow`s without end. Each row continues where it stopped in the
        last window, except that now and then it goes on in another sentence.
    """
    size = rows * steps
    # Never more than a pass: its rows would have the same sentences.
    count = max(1, min(_LAID_OUT, len(text.numbers)) // size)
    skipped = first % count
    start = (first - skipped) * size
    streams = [token_stream(text, i, seed, start) for i in range(2)]
    for block in zip(*(_blocks(stream, count * size) for stream in streams)):
        tokens = np.stack(block)  # (2, count * size + 1)
        width = count * steps
        tokens = np.lib.stride_tricks.sliding_window_view(
            tokens, width + 1, axis=1
        )[:, ::width]
        yield from itertools.islice(_cut(tokens, None, steps), skipped, None)
        skipped = 0


def stream_windows(sentences, rows, steps):
    """Lays sentences end to end in rows, and cuts them into windows.

    Args:
        sentences: List of sentences, each a list of numbers.
        rows: Integer, the number of rows. When a row's sentence ends, the row
            takes the next sentence of the text.
        steps: Integer, the width of a window.

    Yields:
        `TextWindow`s; each row continues where it stopped in the last window.
    """
    rows = [[] for _ in range(rows)]
    unread = [0] * len(rows)  # Tokens of each row.
    left = iter(sentences)
    while True:
        for i, row in enumerate(rows):
            while unread[i] < steps and (new := next(left, None)) is not None:
                row.append(new)
                unread[i] += len(new) + 1
        if not any(unread):
            break
        unread = [max(0, tokens - steps) for tokens in unread]
    yield from _cut(*_laid_out(rows, steps), steps)


def sentence_windows(sentences, max_tokens):
    """Puts sentences of similar length into windows, one sentence per row.

    Args:
        sentences: As for `stream_windows`.
        max_tokens: Integer, the maximum number of tokens in a window, with
            padding. A longer sentence has a window to itself.

    Yields:
        `TextWindow`s.
    """
    numbers = list(range(len(sentences)))
    for i in range(0, len(numbers), _SORTED_SENTENCES):
        rows = []
        chunk = numbers[i : i + _SORTED_SENTENCES]
        for number in sorted(chunk, key=lambda i: len(sentences[i])):
            steps = len(sentences[number]) + 1
            if rows and (len(rows) + 1) * steps > max_tokens:
                yield _sentence_window(sentences, rows)
                rows = []
            rows.append(number)
        yield _sentence_window(sentences, rows)


def _sentence_window(sentences, numbers):
    steps = max(len(sentences[i]) for i in numbers) + 1
    rows = _laid_out([[sentences[i]] for i in numbers], steps)
    return next(_cut(*rows, steps, numbers))


def _laid_out(rows, steps):
    """Returns rows of sentences as arrays, as for `_cut`.

    Args:
        rows: List of lists of sentences, each a list of numbers.
        steps: Integer, of which the width of the rows is a multiple.
    """
    lengths = [sum(map(len, row)) + len(row) for row in rows]
    width = -(-max(lengths) // steps) * steps
    tokens = np.zeros((2, len(rows), width + 1), "int32")
    tokens[1] = 1  # The marks where a row ends.
    for i, (row, length) in enumerate(zip(rows, lengths)):
        forward = [x for words in row for x in (0, *words)]
        backward = [x for words in row for x in (1, *reversed(words))]
        tokens[:, i, :length] = forward, backward
    return tokens, np.arange(width) < np.array(lengths)[:, None]


def _blocks(arrays, size):
    """Yields arrays of `size + 1`, each beginning with the last one's end."""
    waiting, length = [], 0
    for array in arrays:
        waiting.append(array)
        length += len(array)
        while length > size:
            joined = np.concatenate(waiting)
            yield joined[: size + 1]
            waiting, length = [joined[size:]], length - size


def _cut(tokens, is_real, steps, sentences=None):
    """Yields the windows of rows.

    Args:
        tokens: int32 `(2, rows, time + 1)`, what each direction reads, and the
            token that follows.
        is_real: Boolean `(rows, time)` or `None`, as in `TextWindow`.
        steps: Integer, the width of a window.
        sentences: As in `TextWindow`.
    """
    inputs, targets = tokens[..., :-1], tokens[..., 1:]
    # A sentence ends where the next one begins.
    boundary = np.arange(2, dtype="int32")[:, None, None]
    for i in range(0, inputs.shape[-1], steps):
        window = slice(i, i + steps)
        following = targets[..., window]
        yield TextWindow(
            inputs[..., window],
            np.where(following == boundary, 1 - boundary, following),
            None if is_real is None else is_real[:, window],
            sentences,
        )
