"""Masks as users pass them."""

from keras import ops


def as_mask(mask, shape, name):
    """Returns `mask` as a boolean tensor.

    Args:
        mask: Array, list or tensor of any number type.
        shape: The shape it must have; `None` where it may be any.
        name: The layer's name, for the message.

    Raises:
        ValueError: If the mask has another shape.
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
