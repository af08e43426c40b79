"""Conversion and checks of what layers are called with: ids and masks."""

import keras
import numpy as np
from keras import ops

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


def as_ids(ids, num_ids, name):
    """Returns `ids` as int32 or int64, or raises `ValueError`.

    Args:
        ids: Tensor, array, ragged tensor or nested list of whole numbers, of
            any dtype that represents all ids exactly. A symbolic input is
            returned unchanged, whatever its dtype: Keras itself creates float32
            ones to rebuild a model.
        num_ids: Integer; ids range from 0 to `num_ids - 1`.
        name: The layer's name, for the message.
    """
    if any(isinstance(x, keras.KerasTensor) for x in keras.tree.flatten(ids)):
        return ids
    mask = get_mask(ids)
    ids = _as_array(ids, name)
    dtype = keras.backend.standardize_dtype(ids.dtype)
    if dtype in ("int32", "int64"):
        return ids
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
    if dtype.startswith("float"):
        values = require(
            values == floor(values),
            f"Layer '{name}' takes integer ids; declare a symbolic input with "
            '`keras.Input(..., dtype="int32")`. '
            f"Received: fractions, dtype={dtype}",
            values,
        )
    # The cast would make small ids of numbers that are too large.
    values = _check_range(values, num_ids, name)
    if isinstance(values, np.ndarray):
        values = values.astype("int32")
    ids = ops.cast(values, "int32")
    set_mask(ids, mask)
    return ids


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


def check_ids(ids, token_shape, num_ids, name):
    """Returns `ids`, or raises `ValueError` if they are not valid ids.

    Args:
        ids: Integer tensor `(..., *token_shape)`, concrete or symbolic.
        token_shape: Tuple, the shape of one token's ids.
        num_ids: Integer; ids range from 0 to `num_ids - 1`.
        name: The layer's name, for the message.
    """
    rank = len(ids.shape) - len(token_shape)
    if not shapes_agree(ids.shape[rank:], token_shape):
        raise ValueError(
            f"Layer '{name}' takes ids of shape (..., "
            f"{', '.join(map(str, token_shape))}), as `batch_to_ids` of the "
            "token encoder's `make_vectorization()` returns them. "
            f"Received: shape={tuple(ids.shape)}"
        )
    if isinstance(ids, keras.KerasTensor):
        return ids
    return _check_range(ids, num_ids, name)


def _check_range(ids, num_ids, name):
    expected = f"Layer '{name}' takes ids from 0 to {num_ids - 1}."
    values = concrete_value(ids)
    if values is None:
        return require((ids >= 0) & (ids < num_ids), expected, ids)
    if values.size:
        low, high = values.min(), values.max()
        if low < 0 or high >= num_ids:
            raise ValueError(f"{expected} Received: ids from {low} to {high}")
    return ids


def sentence_shape(shape, token_shape, name):
    """Returns a shape without that of a token: (batch, time) or of documents.

    Args:
        shape: The shape of ids; `None` where unknown.
        token_shape: Tuple, the shape of one token's ids.
        name: The layer's name, for the message.

    Raises:
        ValueError: If neither sentences nor documents can have `shape`.
    """
    rank = len(shape) - len(token_shape)
    if rank not in (2, 3) or not shapes_agree(shape[rank:], token_shape):
        dims = "".join(f", {size}" for size in token_shape)
        raise ValueError(
            f"Layer '{name}' takes ids of shape (batch, time{dims}) or "
            f"(batch, sentences, time{dims}). Received: shape={tuple(shape)}"
        )
    return tuple(shape[:rank])


def shapes_agree(a, b):
    """Whether two shapes are the same as far as they are known."""
    return len(a) == len(b) and all(
        None in sizes or sizes[0] == sizes[1] for sizes in zip(a, b)
    )


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
