"""Positions of tokens in a padded batch, and how to move them.

A *slot* is a position in a packed sentence: first its real tokens, in order,
then padding. After packing, it does not matter whether padding was on the
right, on the left or between tokens.
"""

from keras import ops

from keras_elmo.ops.fast_paths import take_rows


def lengths(mask):
    """Number of real tokens: `(batch, time)` booleans -> `(batch, 1)`."""
    return ops.sum(ops.cast(mask, "int32"), axis=1, keepdims=True)


def pack_order(mask):
    """The position of the token that goes into each slot: `(batch, time)`."""
    time = ops.shape(mask)[1]
    place = ops.arange(time, dtype="int32")[None, :]  # (1, time)
    return ops.argsort(ops.where(mask, place, place + time), axis=1)


def pack_slots(mask):
    """The slot of each real token: `(batch, time)`.

    Padding gets an arbitrary valid slot.
    """
    return ops.maximum(ops.cumsum(ops.cast(mask, "int32"), axis=1) - 1, 0)


def reverse_slots(slots, length):
    """The slots of the same tokens if each sentence is read backwards.

    Args:
        slots: Integer tensor `(batch, time)`.
        length: Integer tensor `(batch, 1)`.

    Returns:
        Integer tensor `(batch, time)`. Slots of padding are unchanged.
    """
    return ops.where(slots < length, length - 1 - slots, slots)


def gather_slots(x, slots):
    """Gathers `slots` (batch, n) of `x` (batch, time, dim): (batch, n, dim)."""
    batch, time = ops.shape(x)[:2]
    return gather_rows(x, batch_rows(batch, time) + slots)


def gather_slots_masked(x, slots, mask):
    """Like `gather_slots`, with zeros where `mask` (batch, n) is `False`."""
    return ops.where(mask[..., None], gather_slots(x, slots), 0)


def gather_time_major(x, places):
    """Like `gather_slots`, with a time-major result: (n, batch, dim)."""
    batch, time = ops.shape(x)[:2]
    return gather_rows(x, ops.transpose(batch_rows(batch, time) + places))


def time_major_rows(slots, batch):
    """The rows of `slots` (batch, n) of a time-major `x` (time, batch, dim)."""
    return slots * batch + ops.arange(batch, dtype="int32")[:, None]


def gather_rows(x, rows):
    """Gathers `rows` of `x` (a, b, dim), flattened: (*rows, dim)."""
    return take_rows(ops.reshape(x, (-1, x.shape[-1])), rows)


def batch_rows(batch, time):
    """Row of each sentence's first token if sentences are concatenated."""
    return ops.arange(batch, dtype="int32")[:, None] * time  # (batch, 1)
