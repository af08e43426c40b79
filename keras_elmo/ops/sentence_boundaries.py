"""Adds `<S>` and `</S>` to each sentence of a batch, and removes them."""

from typing import Any
from typing import NamedTuple

from keras import ops

from keras_elmo.ops import sequences


class Layout(NamedTuple):
    """The positions of a batch's tokens while the boundaries are added."""

    rows: Any
    """(batch, bounded time): row of each slot's token among all tokens of the
    batch, concatenated and followed by `<S>` and `</S>`."""
    mask: Any
    """(batch, bounded time): `False` at padding."""
    mixed_mask: Any
    """(batch, bounded time): `False` at padding, and at boundaries that the
    output leaves out."""
    output_slots: Any
    """(batch, output time): the slot of each token of the output."""
    output_mask: Any
    """(batch, output time): `False` at padding."""


def lay_out(mask, add_boundaries, keep_boundaries):
    """Plans the positions of a batch's tokens in the encoder and the output.

    Args:
        mask: Boolean tensor `(batch, time)`, `False` at padding.
        add_boundaries: Whether to add boundaries; otherwise each sentence's
            first and last token are assumed to be its boundaries.
        keep_boundaries: Whether to keep the boundaries in the output.

    Returns:
        A `Layout`. Each token's output is at the token's position in the input,
        unless the input's own boundaries are removed or boundaries are kept:
        then the output is packed to the left.
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
    if keep_boundaries:
        mixed_mask = bounded_mask
    else:
        mixed_mask = bounded_mask & (slots > 0) & ops.logical_not(is_end)
    if keep_boundaries:
        output_slots = slots + ops.zeros_like(length)
    elif add_boundaries:
        output_slots = sequences.pack_slots(mask) + 1
    else:
        output_slots = slots[:, 1:-1] + ops.zeros_like(length)
    return Layout(
        rows,
        bounded_mask,
        mixed_mask,
        output_slots,
        output_mask(mask, add_boundaries, keep_boundaries),
    )


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
