"""Checks of the layers' input ids."""

import keras

from keras_elmo.ops.as_ids import as_ids
from keras_elmo.ops.checks import concrete_value
from keras_elmo.ops.checks import require


def check_ids(ids, token_shape, num_ids, name):
    """Returns `ids`, or raises `ValueError` if they are not valid ids.

    Args:
        ids: As for `as_ids`, of shape `(..., *token_shape)`.
        token_shape: Tuple, the shape of one token's ids.
        num_ids: Integer; ids range from 0 to `num_ids - 1`.
        name: The layer's name, for the message.
    """
    ids = as_ids(ids, num_ids, name)
    rank = len(token_shape)
    if tuple(ids.shape[len(ids.shape) - rank :]) not in (
        token_shape,
        (None,) * rank,
    ):
        raise ValueError(
            f"Layer '{name}' takes ids of shape (..., "
            f"{', '.join(map(str, token_shape))}), as `batch_to_ids` of the "
            "token encoder's `make_vectorization()` returns them. "
            f"Received: shape={tuple(ids.shape)}"
        )
    expected = f"Layer '{name}' takes ids from 0 to {num_ids - 1}."
    if isinstance(ids, keras.KerasTensor):
        return ids
    values = concrete_value(ids)
    if values is None:
        return require((ids >= 0) & (ids < num_ids), expected, ids)
    if values.size:
        low, high = int(values.min()), int(values.max())
        if low < 0 or high >= num_ids:
            raise ValueError(f"{expected} Received: ids from {low} to {high}")
    return ids


def check_token_shape(shape, token_shape, name):
    """Raises `ValueError` unless sentences or documents can have `shape`.

    Args:
        shape: The input's shape; `None` where unknown.
        token_shape: Tuple, the shape of one token's ids.
        name: The layer's name, for the message.
    """
    rank = len(shape) - len(token_shape)
    fits = rank in (2, 3) and all(
        size in (None, expected)
        for size, expected in zip(shape[rank:], token_shape)
    )
    if not fits:
        dims = "".join(f", {size}" for size in token_shape)
        raise ValueError(
            f"Layer '{name}' takes ids of shape (batch, time{dims}) or "
            f"(batch, sentences, time{dims}). Received: shape={tuple(shape)}"
        )
