"""Where the tokens of a padded batch stand when the LSTMs read them.

A *slot* is a position in a packed sentence: first its real tokens, in order,
then padding. After packing, it does not matter whether padding was on the
right, on the left or between tokens. A *row* is a token's place among all
tokens of the batch, sentence after sentence.
"""

from typing import Any
from typing import NamedTuple

from keras import ops

from keras_elmo.ops.backends import at_least_one


class Layout(NamedTuple):
    """What the LSTMs read of a batch, and where its outputs go."""

    rows: Any
    """(batch, slots): the row of each slot's token; at least one slot."""
    length: Any
    """(batch, 1): the number of a sentence's real tokens."""
    output_slots: Any
    """(batch, output time): the slot of each token of the output."""
    output_mask: Any
    """(batch, output time): `False` at padding."""


def lay_out(mask, add_boundaries=None, keep_boundaries=True):
    """Plans how a batch is read.

    Args:
        mask: Boolean tensor `(batch, time)`, `False` at padding.
        add_boundaries: `True` to add `<S>` and `</S>` to each sentence; their
            rows follow those of all tokens. `False` if each sentence's first
            and last token are boundaries. `None` if there are none.
        keep_boundaries: Whether to keep the boundaries in the output.

    Returns:
        A `Layout`. Each token's output is at the token's position in the input,
        unless the input's own boundaries are removed or boundaries are kept:
        then the output is packed to the left.
    """
    batch, time = ops.shape(mask)
    length = ops.sum(ops.cast(mask, "int32"), axis=1, keepdims=True)
    first_rows = ops.arange(batch, dtype="int32")[:, None] * time  # (batch, 1)
    rows = first_rows + pack_order(mask)
    output_slots = pack_slots(mask)
    if add_boundaries:
        rows = ops.pad(rows, ((0, 0), (1, 1)))  # (batch, time + 2)
        length, output_slots = length + 2, output_slots + 1
    slots = ops.arange(ops.shape(rows)[1], dtype="int32")[None]  # (1, slots)
    if add_boundaries:
        rows = ops.where(slots == 0, batch * time, rows)
        rows = ops.where(slots == length - 1, batch * time + 1, rows)
    if add_boundaries is not None and keep_boundaries:
        output_slots = slots + ops.zeros_like(length)
    elif add_boundaries is False:
        output_slots = slots[:, 1:-1] + ops.zeros_like(length)
    if add_boundaries is not None:
        mask = output_mask(mask, add_boundaries, keep_boundaries)
    return Layout(at_least_one(rows, axis=1), length, output_slots, mask)


def output_mask(mask, add_boundaries, keep_boundaries):
    """Returns the output's mask, for an input mask `(..., time)`.

    Also works on symbolic tensors of unknown shape.
    """
    if add_boundaries and not keep_boundaries:
        return mask
    # Packed: one `True` per token, at the start.
    packed = ops.flip(ops.sort(ops.cast(mask, "int32"), axis=-1), axis=-1)
    if not keep_boundaries:
        packed = packed[..., 2:]
    elif add_boundaries:
        widths = [(0, 0)] * (len(mask.shape) - 1) + [(2, 0)]
        packed = ops.pad(packed, widths, constant_values=1)
    return ops.cast(packed, "bool")


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
        slots: Integer tensor `(batch, n)`.
        length: Integer tensor `(batch, 1)`.

    Returns:
        Integer tensor `(batch, n)`. Slots of padding are unchanged.
    """
    return ops.where(slots < length, length - 1 - slots, slots)


def rows_at(rows, slots):
    """Picks `slots` (batch, n) of `rows` (batch, slots): (batch, n)."""
    batch, time = ops.shape(rows)
    first_rows = ops.arange(batch, dtype="int32")[:, None] * time  # (batch, 1)
    return ops.take(ops.reshape(rows, (-1,)), first_rows + slots, axis=0)


def outputs_at(x, slots, mask):
    """Picks outputs of the LSTMs, with zeros where `mask` is `False`.

    Args:
        x: Tensor `(steps, batch, dim)`.
        slots: Integer tensor `(batch, n)`.
        mask: Boolean tensor `(batch, n)`.

    Returns:
        Tensor `(batch, n, dim)`.
    """
    batch = ops.shape(slots)[0]
    rows = slots * batch + ops.arange(batch, dtype="int32")[:, None]
    x = ops.take(ops.reshape(x, (-1, x.shape[-1])), rows, axis=0)
    return ops.where(mask[..., None], x, 0)
