"""Where the tokens of a padded batch lie, and how to move them.

A *slot* is a place in a packed sentence: its real tokens first, in their order,
then padding. Packing makes right padding, left padding and holes all the same.
"""

from keras import ops


def lengths(mask):
    """Number of real tokens: `(batch, time)` booleans -> `(batch, 1)`."""
    return ops.sum(ops.cast(mask, "int32"), axis=1, keepdims=True)


def pack_order(mask):
    """The place of the token that goes into each slot: `(batch, time)`."""
    time = ops.shape(mask)[1]
    place = ops.arange(time, dtype="int32")[None, :]  # (1, time)
    return ops.argsort(ops.where(mask, place, place + time), axis=1)


def pack_slots(mask):
    """The slot that each real token goes to: `(batch, time)`.

    Padding gets some slot within the range.
    """
    return ops.maximum(ops.cumsum(ops.cast(mask, "int32"), axis=1) - 1, 0)


def reverse_slots(slots, length):
    """The slots of the same tokens when each sentence is read backwards.

    Args:
        slots: Integer tensor `(batch, time)`.
        length: Integer tensor `(batch, 1)`.

    Returns:
        Integer tensor `(batch, time)`. Slots of padding stay as they are.
    """
    return ops.where(slots < length, length - 1 - slots, slots)


def gather_slots(x, slots):
    """Picks `slots` (batch, n) of `x` (batch, time, dim): (batch, n, dim)."""
    batch, time, dim = ops.shape(x)
    rows = batch_rows(batch, time) + slots  # (batch, n)
    return ops.take(ops.reshape(x, (-1, dim)), rows, axis=0)


def gather_time_major(x, places):
    """As `gather_slots`, with the result time-major: (n, batch, dim)."""
    batch, time, dim = ops.shape(x)
    rows = ops.transpose(batch_rows(batch, time) + places)  # (n, batch)
    return ops.take(ops.reshape(x, (-1, dim)), rows, axis=0)


def gather_batch_major(x, slots):
    """Picks `slots` (batch, n) of time-major `x` (time, batch, dim).

    Returns (batch, n, dim).
    """
    _, batch, dim = ops.shape(x)
    row = ops.arange(batch, dtype="int32")[:, None]  # (batch, 1)
    return ops.take(ops.reshape(x, (-1, dim)), slots * batch + row, axis=0)


def batch_rows(batch, time):
    """Row of each sentence's first token when sentences lie end to end."""
    return ops.arange(batch, dtype="int32")[:, None] * time  # (batch, 1)
