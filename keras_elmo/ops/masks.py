"""Masks passed by users."""

from keras import ops


def as_mask(mask, shape, name):
    """Returns `mask` as a boolean tensor.

    Args:
        mask: Array, list or tensor of any numeric dtype.
        shape: The shape it must have; `None` for axes of any size.
        name: The layer's name, for the message.

    Raises:
        ValueError: If the mask has the wrong shape.
    """
    mask = mask if hasattr(mask, "shape") else ops.convert_to_tensor(mask)
    fits = len(mask.shape) == len(shape) and all(
        None in (got, expected) or got == expected
        for got, expected in zip(mask.shape, shape)
    )
    if not fits:
        raise ValueError(
            f"The `mask` of layer '{name}' must have the shape {tuple(shape)}. "
            f"Received: shape={tuple(mask.shape)}"
        )
    return mask if str(mask.dtype) == "bool" else ops.cast(mask, "bool")
