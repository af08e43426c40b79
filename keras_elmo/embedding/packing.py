"""Packs sentences end to end in rows, with hardly any padding."""

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Packing(NamedTuple):
    """The position of each sentence of a batch."""

    rows: np.ndarray
    """(sentences,): the row of each sentence."""
    starts: np.ndarray
    """(sentences,): the slot of its first token in that row."""
    num_rows: int
    num_slots: int
    """Slots per row: as many as the fullest row needs."""


def pack_rows(lengths: Sequence[int], max_rows: int) -> Packing:
    """Distributes sentences over rows of about equal length.

    A recurrent step costs about the same for one row as for a few. So rows are
    only as long as the longest sentence (or longer, if `max_rows` rows would
    not suffice), and there are as many as the tokens fill. The longest
    sentences are placed first, each in the emptiest row.

    Args:
        lengths: The number of tokens of each sentence; at least one sentence.
        max_rows: Integer, the maximum number of rows.
    """
    total = sum(lengths)
    slots = max(*lengths, -(-total // max_rows), 1)
    num_rows = max(1, -(-total // slots))
    rows = np.zeros(len(lengths), dtype="int32")
    starts = np.zeros(len(lengths), dtype="int32")
    filled = [(0, row) for row in range(num_rows)]
    for i in np.argsort(np.negative(lengths), kind="stable"):
        starts[i], rows[i] = filled[0]
        heapq.heapreplace(filled, (filled[0][0] + lengths[i], filled[0][1]))
    return Packing(rows, starts, num_rows, max(filled)[0])
