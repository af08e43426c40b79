"""Ids of whatever type they come in."""

import keras
import numpy as np
from keras import ops

from keras_elmo.ops.checks import require
from keras_elmo.ops.private_keras import get_mask
from keras_elmo.ops.private_keras import set_mask

# How far each type counts without a gap. Half precision is not among them:
# bfloat16 makes 256 of 257, and float16 2048 of 2049.
_COUNTS_TO = {
    "int8": 2**7 - 1,
    "uint8": 2**8 - 1,
    "int16": 2**15 - 1,
    "uint16": 2**16 - 1,
    "uint32": 2**32 - 1,
    "float32": 2**24,
    "float64": 2**53,
}


def as_ids(ids, num_ids, name):
    """Returns `ids` as int32 or int64, or raises `ValueError`.

    Args:
        ids: Tensor, array, ragged tensor or nested list of whole numbers of any
            type that can tell all ids apart. A symbolic input is returned as it
            is, whatever its dtype: Keras makes those of float32 by itself, to
            build a model anew.
        num_ids: Integer; ids lie from 0 to `num_ids - 1`.
        name: The layer's name, for the message.
    """
    if any(isinstance(x, keras.KerasTensor) for x in keras.tree.flatten(ids)):
        return ids
    mask = get_mask(ids)
    array = _as_array(ids, name)
    dtype = keras.backend.standardize_dtype(array.dtype)
    if dtype in ("int32", "int64"):
        return array
    if _COUNTS_TO.get(dtype, -1) < num_ids - 1:
        raise ValueError(
            f"Layer '{name}' takes integer ids, of int32 or int64: not every "
            f"type holds all numbers from 0 to {num_ids - 1}. Declare a "
            'symbolic input with `keras.Input(..., dtype="int32")`. '
            f"Received: dtype={dtype}"
        )
    array = ops.convert_to_tensor(array)
    if dtype.startswith("float"):
        array = require(
            ops.equal(array, ops.floor(array)),
            f"Layer '{name}' takes integer ids; declare a symbolic input with "
            '`keras.Input(..., dtype="int32")`. '
            f"Received: fractions, dtype={dtype}",
            array,
        )
    array = ops.cast(array, "int32")
    set_mask(array, mask)
    return array


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
        f"Layer '{name}' takes ids, not words. Make them with "
        "`keras_elmo.batch_to_ids(sentences)`, or for a vocabulary with "
        "`elmo.token_encoder.make_vectorization().batch_to_ids(sentences)`; "
        f"both pad to one length. Received: {received}"
    )
