"""Conversion and checks of what layers are called with: ids and masks."""

import keras
import numpy as np
from keras import ops

from keras_elmo.checks import shapes_agree
from keras_elmo.ops.backends import concrete_value
from keras_elmo.ops.backends import require
from keras_elmo.ops.private_keras import get_mask
from keras_elmo.ops.private_keras import set_mask

# Up to which integer each dtype represents all integers exactly. Half precision
# is left out: it rounds 257 to 256 in bfloat16 and 2049 to 2048 in float16.
_LARGEST_EXACT_INTEGER = {
    "int8": 2**7 - 1,
    "uint8": 2**8 - 1,
    "int16": 2**15 - 1,
    "uint16": 2**16 - 1,
    "uint32": 2**32 - 1,
    "uint64": 2**64 - 1,
    "float32": 2**24,
    "float64": 2**53,
}


def as_ids(ids, num_ids, name, token_shape=None):
    """Returns `ids` as int32 or int64, or raises `ValueError`.

    The mask that they may carry is kept.

    Args:
        ids: Tensor, array, ragged tensor or nested list of whole numbers, of
            any dtype that represents all ids exactly. A symbolic input is
            returned unchanged, whatever its dtype: Keras itself creates float32
            ones to rebuild a model.
        num_ids: Integer; ids range from 0 to `num_ids - 1`.
        name: The layer's name, for the message.
        token_shape: Tuple, the shape of one token's ids, with which that of
            `ids` must end. Defaults to any.
    """
    is_symbolic = isinstance(ids, keras.KerasTensor)
    mask = None if is_symbolic else get_mask(ids)
    ids = ids if is_symbolic else _as_array(ids, name)
    rank = len(ids.shape) - len(token_shape or ())
    if token_shape and not shapes_agree(ids.shape[rank:], token_shape):
        raise ValueError(
            f"Layer '{name}' takes ids of shape (..., "
            f"{', '.join(map(str, token_shape))}), as `batch_to_ids` of the "
            "token encoder's `make_vectorization()` returns them. "
            f"Received: shape={tuple(ids.shape)}"
        )
    if is_symbolic:
        return ids
    dtype = keras.backend.standardize_dtype(ids.dtype)
    if dtype in ("int32", "int64"):
        ids = check_range(ids, num_ids, name)
    else:
        # Before the cast, which would make small ids of too large numbers.
        values = check_range(_whole(ids, dtype, num_ids, name), num_ids, name)
        if isinstance(values, np.ndarray):
            values = values.astype("int32")
        ids = ops.cast(values, "int32")
    if mask is not None:
        set_mask(ids, mask)
    return ids


def _whole(ids, dtype, num_ids, name):
    """Returns numbers of another dtype, if they are whole and exact."""
    if _LARGEST_EXACT_INTEGER.get(dtype, -1) < num_ids - 1:
        raise ValueError(
            f"Layer '{name}' takes integer ids, int32 or int64: this dtype "
            f"does not hold all numbers from 0 to {num_ids - 1}. Declare a "
            'symbolic input with `keras.Input(..., dtype="int32")`. '
            f"Received: dtype={dtype}"
        )
    values = concrete_value(ids)
    floor = np.floor
    if values is None:
        values, floor = ops.convert_to_tensor(ids), ops.floor
    if not dtype.startswith("float"):
        return values
    return require(
        values == floor(values),
        f"Layer '{name}' takes integer ids; declare a symbolic input with "
        '`keras.Input(..., dtype="int32")`. '
        f"Received: fractions, dtype={dtype}",
        values,
    )


def _as_array(ids, name):
    received = "neither a tensor nor an array"
    if hasattr(ids, "nested_row_splits"):  # TensorFlow's ragged tensor
        ids = ids.to_tensor()  # Its zeros are padding.
    elif not hasattr(ids, "dtype"):
        try:
            ids = np.asarray(ids)
        except ValueError:
            ids, received = np.asarray(None), "lists of unequal lengths"
    if getattr(ids.dtype, "kind", None) in ("S", "U") or "string" in str(
        ids.dtype
    ):
        received = "strings"
    elif str(ids.dtype) != "object":
        return ids
    raise ValueError(
        f"Layer '{name}' takes ids, not words. Make ids with "
        "`elmo.token_encoder.make_vectorization().batch_to_ids(sentences)`, or "
        "for a `CharCNNEmbedding` with `keras_elmo.batch_to_ids(sentences)`; "
        f"both pad sentences to the same length. Received: {received}"
    )


def check_range(ids, num_ids, name):
    """Returns `ids`, or raises `ValueError` for one that is out of range.

    Args:
        ids: Tensor or array of numbers.
        num_ids: Integer; ids range from 0 to `num_ids - 1`.
        name: The layer's name, for the message.
    """
    expected = f"Layer '{name}' takes ids from 0 to {num_ids - 1}."
    values = concrete_value(ids)
    if values is None:
        return require((ids >= 0) & (ids < num_ids), expected, ids)
    if values.size:
        low, high = values.min(), values.max()
        if low < 0 or high >= num_ids:
            raise ValueError(f"{expected} Received: ids from {low} to {high}")
    return ids


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
    if not shapes_agree(mask.shape, shape):
        raise ValueError(
            f"The `mask` of layer '{name}' must have the shape {tuple(shape)}. "
            f"Received: shape={tuple(mask.shape)}"
        )
    return mask if str(mask.dtype) == "bool" else ops.cast(mask, "bool")
