"""Conversion of ids of any dtype."""

import keras
import numpy as np
from keras import ops

from keras_elmo.ops.checks import require
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
    array = _as_array(ids, name)
    dtype = keras.backend.standardize_dtype(array.dtype)
    if dtype in ("int32", "int64"):
        return array
    if _LARGEST_EXACT_INTEGER.get(dtype, -1) < num_ids - 1:
        raise ValueError(
            f"Layer '{name}' takes integer ids, int32 or int64: this dtype "
            f"does not hold all numbers from 0 to {num_ids - 1}. Declare a "
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
        f"Layer '{name}' takes ids, not words. Make ids with "
        "`elmo.token_encoder.make_vectorization().batch_to_ids(sentences)`, or "
        "for a `CharCNNEmbedding` with `keras_elmo.batch_to_ids(sentences)`; "
        f"both pad sentences to the same length. Received: {received}"
    )
