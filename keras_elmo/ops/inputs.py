"""Checks of what layers are called with: ids and masks."""

import contextvars

import keras
import numpy as np
from keras import ops

from keras_elmo.ops.backends import backend


def as_ids(ids, num_ids, name):
    """Returns ids as int32, or raises `ValueError`.

    Args:
        ids: Tensor or array of whole numbers, of any dtype that represents all
            ids exactly.
        num_ids: Integer; ids range from 0 to `num_ids - 1`. Or an array of
            integers, one for each column of ids.
        name: The layer's name, for the message.
    """
    last = np.asarray(num_ids) - 1
    most = " or ".join(map(str, np.unique(last)))
    dtype = keras.backend.standardize_dtype(ids.dtype)
    expected = f"Layer '{name}' takes integer ids from 0 to {most}."
    if "float" in dtype:
        expected += (
            " They have no fractions: declare a symbolic input with "
            '`keras.Input(..., dtype="int32")`.'
        )
    if _largest_exact_integer(dtype) < last.max():
        raise ValueError(
            f"{expected} Their dtype must represent all of them, as int32 and "
            f"int64 do. Received: {dtype=!s}"
        )
    values = concrete_value(ids)
    x = ids if values is None else values
    is_good = (x >= 0) & (x <= last.astype(dtype))
    if dtype.startswith("float"):
        is_good = is_good & (x % 1 == 0)
    if values is None:
        ids = require(is_good, expected, ids)
    elif not is_good.all():
        bad = values[~is_good]
        raise ValueError(
            f"{expected} Received: ids from {bad.min()} to {bad.max()}"
        )
    return ops.cast(ids, "int32")


def _largest_exact_integer(dtype):
    """Up to which integer a dtype represents all of them exactly."""
    if dtype.startswith(("int", "uint")):
        return np.iinfo(dtype).max
    if dtype in ("float32", "float64"):
        return 2 ** (np.finfo(dtype).nmant + 1)
    # In half precision, 257 may have been rounded to 256.
    return -1


def as_array(ids, name):
    """Returns ids that Keras makes a tensor of without changing them.

    Args:
        ids: What a layer is called with.
        name: The layer's name, for the message.

    Raises:
        ValueError: If it is no tensor or array of numbers.
    """
    kind = type(ids).__name__
    dtype = str(getattr(ids, "dtype", None))
    is_good = any(part in dtype for part in ("int", "float", "bool"))
    if kind == "ndarray" and dtype in ("int64", "uint64") and ids.size:
        # Tensors of JAX would keep half of an int64; PyTorch has no uint64.
        is_good = ids.min() >= -(2**31) and ids.max() < 2**31
        ids = ids.astype("int32")
    if not is_good or "Ragged" in kind:
        raise ValueError(
            f"Layer '{name}' takes a tensor or an array of ids, which fit into "
            "int32 and are padded with zeros, as `keras_elmo.batch_to_ids` or "
            "`elmo.token_encoder.make_vectorization().batch_to_ids` returns "
            "them. In a model of strings, put the layer `WordVectorization` "
            f"before it. Received: {kind}, dtype={dtype}"
        )
    return ids


def leading_shape(shape, token_shape, name, axes=None):
    """Returns the shape of ids without that of a token.

    Args:
        shape: The shape of ids.
        token_shape: The shape of a token's ids.
        name: The layer's name, for the message.
        axes: Dictionary from the possible numbers of leading axes to their
            names. Defaults to any number.

    Raises:
        ValueError: If the shape is none of these.
    """
    rank = len(shape) - len(token_shape)
    axes = axes or {rank: "..."}
    if rank not in axes or not shapes_agree(shape[rank:], token_shape):
        end = "".join(f", {size}" for size in token_shape)
        shapes = " or ".join(f"({names}{end})" for names in axes.values())
        raise ValueError(
            f"Layer '{name}' takes ids of shape {shapes}, as `batch_to_ids` "
            f"returns them. Received: shape={tuple(shape)}"
        )
    return tuple(shape[:rank])


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


def shapes_agree(a, b):
    """Whether two shapes are the same as far as they are known."""
    for sizes in zip(a, b):
        if None not in sizes and sizes[0] != sizes[1]:
            return False
    return len(a) == len(b)


def concrete_value(x):
    """Returns `x` as a NumPy array, or `None` while a function is traced."""
    if isinstance(x, np.ndarray):
        return x
    if isinstance(x, keras.KerasTensor):
        return None
    return backend().concrete_value(x)


# Whether a function is traced whose arguments are checked in each call.
arguments_are_checked = contextvars.ContextVar("are_checked", default=False)


def require(condition, message, x, rows=None):
    """Returns `x`, or raises an error unless all of `condition` is true.

    In eager code, the error is a `ValueError`. In compiled functions it is
    TensorFlow's `InvalidArgumentError`; other backends and XLA cannot check
    values there.

    Args:
        condition: Boolean tensor.
        message: String.
        x: Tensor.
        rows: Matrix whose rows belong to the entries of a one-dimensional
            `condition`. The first row for which it is false ends the message.
    """
    values = concrete_value(condition)
    if values is not None:
        if not values.all():
            if rows is not None:
                message += f" {concrete_value(rows)[values.argmin()].tolist()}"
            raise ValueError(message)
        return x
    if isinstance(condition, keras.KerasTensor) or arguments_are_checked.get():
        return x
    return backend().require_in_graph(condition, message, x, rows)
