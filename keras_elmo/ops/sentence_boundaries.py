"""Putting `<S>` and `</S>` around each sentence of a batch, and off again."""

from typing import Any
from typing import NamedTuple

from keras import ops

from keras_elmo.ops import sequences


class Layout(NamedTuple):
    """Where the tokens of a batch are while the boundaries are on."""

    rows: Any
    """(batch, bounded time): row of each slot's token among all tokens of the
    batch laid end to end, with `<S>` and `</S>` after them."""
    mask: Any
    """(batch, bounded time): `False` at padding."""
    token_mask: Any
    """(batch, bounded time): `False` at padding and at boundaries."""
    output_slots: Any
    """(batch, output time): the slot of each token of the output."""
    output_mask: Any
    """(batch, output time): `False` at padding."""


def lay_out(mask, add_boundaries, keep_boundaries):
    """Plans a batch's way through the encoder.

    Args:
        mask: Boolean tensor `(batch, time)`, `False` at padding.
        add_boundaries: Whether boundaries are added; otherwise each sentence's
            first and last token are taken to be its boundaries.
        keep_boundaries: Whether the output holds the boundaries too.

    Returns:
        A `Layout`. Its output follows the input token by token, except where
        the input's own boundaries are taken off or boundaries are kept: there
        it is packed to the left.
    """
    batch, time = ops.shape(mask)
    length = sequences.lengths(mask)  # (batch, 1)
    rows = sequences.batch_rows(batch, time) + sequences.pack_order(mask)
    if add_boundaries:
        rows = ops.pad(rows, ((0, 0), (1, 1)))  # (batch, time + 2)
        time, length = time + 2, length + 2
    slots = ops.arange(time, dtype="int32")[None, :]  # (1, bounded time)
    is_end = slots == length - 1
    if add_boundaries:
        num_tokens = batch * (time - 2)
        rows = ops.where(slots == 0, num_tokens, rows)
        rows = ops.where(is_end, num_tokens + 1, rows)
    bounded_mask = slots < length
    token_mask = bounded_mask & (slots > 0) & ops.logical_not(is_end)
    if keep_boundaries:
        output_slots = slots + ops.zeros_like(length)
    elif add_boundaries:
        output_slots = sequences.pack_slots(mask) + 1
    else:
        output_slots = slots[:, 1:-1] + ops.zeros_like(length)
    return Layout(
        rows,
        bounded_mask,
        token_mask,
        output_slots,
        output_mask(mask, add_boundaries, keep_boundaries),
    )


def output_mask(mask, add_boundaries, keep_boundaries):
    """The mask of the output, for a mask `(..., time)` of the input.

    Works on symbolic tensors of unknown shape too.
    """
    if add_boundaries and not keep_boundaries:
        return mask
    # Packed: as many `True` in front as there are tokens.
    packed = ops.flip(ops.sort(ops.cast(mask, "int32"), axis=-1), axis=-1)
    if not keep_boundaries:
        packed = packed[..., 2:]
    elif add_boundaries:
        widths = [(0, 0)] * (len(mask.shape) - 1) + [(2, 0)]
        packed = ops.pad(packed, widths, constant_values=1)
    return ops.cast(packed, "bool")
