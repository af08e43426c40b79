"""Where the real tokens of a padded batch are: padding may be anywhere.

The LSTMs read the tokens of each sentence in order, and then its padding. So
padding neither comes between two tokens nor before the first one.
"""

from keras import ops


def reading_order(mask, backwards=False):
    """The positions in the order in which they are read: tokens, then padding.

    Args:
        mask: Boolean tensor `(batch, time)`, `False` at padding.
        backwards: Boolean, whether the last token is read first.

    Returns:
        Integer tensor `(batch, time)`.
    """
    time = ops.shape(mask)[1]
    position = ops.arange(time, dtype="int32")[None]  # (1, time)
    key = time - 1 - position if backwards else position
    return ops.argsort(ops.where(mask, key, position + time), axis=1)


def reading_steps(mask, backwards=False):
    """The step at which each real token is read, from 0: `(batch, time)`."""
    number = ops.cumsum(ops.cast(mask, "int32"), axis=1)  # 1 for the first
    return number[:, -1:] - number if backwards else number - 1


def without_ends(mask):
    """Returns a mask `(batch, time)` that is `False` at the first and last."""
    time = ops.shape(mask)[1]
    position = ops.arange(time, dtype="int32")
    return mask & (position > 0) & (position < time - 1)


def vectors_at(x, first, second):
    """Returns `x[first, second]`.

    Args:
        x: Tensor `(a, b, dim)`.
        first: Integer tensor of positions on the first axis.
        second: Integer tensor of positions on the second axis; the two are
            broadcast to one shape `(...)`.

    Returns:
        Tensor `(..., dim)`.
    """
    rows = first * ops.shape(x)[1] + second
    found = ops.take(ops.reshape(x, (-1, x.shape[-1])), rows, axis=0)
    # Of nothing, JAX takes vectors without the axes of `rows`.
    return ops.reshape(found, (*ops.shape(rows), x.shape[-1]))


def output_mask(mask, add_boundaries, keep_boundaries):
    """Returns the mask of an `ElmoLayer`'s output.

    Args:
        mask: Boolean tensor `(..., time)`, the mask of its input. It may be
            symbolic.
        add_boundaries: Boolean, whether the layer adds `<S>` and `</S>` to each
            sentence. If not, they are its first and last token.
        keep_boundaries: Boolean, whether they are in the output. If they are,
            or if they were in the input, all padding moves to the end.
    """
    if add_boundaries and not keep_boundaries:
        return mask
    mask = ops.flip(ops.sort(ops.cast(mask, "int32"), axis=-1), axis=-1)
    if not keep_boundaries:
        mask = mask[..., 2:]
    elif add_boundaries:
        widths = [(0, 0)] * (len(mask.shape) - 1) + [(2, 0)]
        mask = ops.pad(mask, widths, constant_values=1)
    return ops.cast(mask, "bool")
