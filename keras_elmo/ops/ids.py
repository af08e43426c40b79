"""Checks of the ids that come into the layers."""

import keras


def check_ids(ids, token_shape, num_ids, name):
    """Raises `ValueError` unless `ids` can be tokens' ids.

    Args:
        ids: Tensor `(..., *token_shape)`.
        token_shape: Tuple, the shape of one token's ids.
        num_ids: Integer; ids lie from 0 to `num_ids - 1`.
        name: The layer's name, for the message.
    """
    dtype = keras.backend.standardize_dtype(ids.dtype)
    if "int" not in dtype:
        raise ValueError(
            f"Layer '{name}' takes integer ids; declare a symbolic input with "
            f'`keras.Input(..., dtype="int32")`. Received: dtype={dtype}'
        )
    rank = len(token_shape)
    if tuple(ids.shape[len(ids.shape) - rank :]) not in (
        token_shape,
        (None,) * rank,
    ):
        raise ValueError(
            f"Layer '{name}' takes ids of shape (..., "
            f"{', '.join(map(str, token_shape))}), as "
            "`keras_elmo.batch_to_ids(sentences, max_characters_per_token)` "
            f"makes them. Received: shape={tuple(ids.shape)}"
        )
    values = concrete_value(ids)
    if values is not None and values.size:
        low, high = int(values.min()), int(values.max())
        if low < 0 or high >= num_ids:
            raise ValueError(
                f"Layer '{name}' takes ids from 0 to {num_ids - 1}. "
                f"Received: ids from {low} to {high}"
            )


def concrete_value(x):
    """`x` as a NumPy array, or `None` while a function is being traced."""
    backend = keras.backend.backend()
    if isinstance(x, keras.KerasTensor):
        return None
    if backend == "tensorflow":
        import tensorflow as tf

        return None if tf.is_symbolic_tensor(x) else x.numpy()
    if backend == "jax":
        import jax

        if isinstance(x, jax.core.Tracer):
            return None
    elif x.device.type == "meta":
        return None
    return keras.ops.convert_to_numpy(x)
