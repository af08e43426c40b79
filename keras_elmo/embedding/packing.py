"""Laying sentences end to end in rows, so that hardly anything is padded."""

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Packing(NamedTuple):
    """Where each sentence of a batch lies."""

    rows: np.ndarray
    """(sentences,): the row of each."""
    starts: np.ndarray
    """(sentences,): the slot of its first token in that row."""
    num_rows: int
    num_slots: int
    """Slots of a row: what the fullest one needs."""


def pack_rows(lengths: Sequence[int], max_rows: int) -> Packing:
    """Spreads sentences over rows of about equal length.

    A recurrent step costs nearly the same for one row as for a few, so there
    are as many rows as fill up evenly beside the longest sentence, and no more.
    The longest sentences are placed first, each into the emptiest row.

    Args:
        lengths: The number of tokens of each sentence, at least one of them.
        max_rows: Integer, the most rows to make.
    """
    total = sum(lengths)
    slots = max(*lengths, -(-total // max_rows), 1)
    num_rows = max(1, -(-total // slots))
    rows = np.zeros(len(lengths), dtype="int32")
    starts = np.zeros(len(lengths), dtype="int32")
    filled = [(0, row) for row in range(num_rows)]
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        starts[i], rows[i] = filled[0]
        heapq.heapreplace(filled, (filled[0][0] + lengths[i], filled[0][1]))
    return Packing(rows, starts, num_rows, max(filled)[0])
