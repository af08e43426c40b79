"""Checks of tensor values, in eager and compiled code."""

import keras
import numpy as np
from keras import ops


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
    if keras.backend.backend() != "tensorflow" or isinstance(
        condition, keras.KerasTensor
    ):
        return x
    import tensorflow as tf

    data = [message]
    if rows is not None:
        # With one more row, as there may be none, and `argmin` needs one.
        values = tf.pad(tf.cast(condition, "int32"), [[0, 1]], "CONSTANT", 1)
        data.append(tf.pad(rows, [[0, 1], [0, 0]])[tf.argmin(values)])
    check = tf.debugging.Assert(ops.all(condition), data, summarize=100)
    with tf.control_dependencies([check]):
        return tf.identity(x)


def concrete_value(x):
    """Returns `x` as a NumPy array, or `None` while a function is traced."""
    backend = keras.backend.backend()
    if isinstance(x, np.ndarray):
        return x
    if isinstance(x, keras.KerasTensor):
        return None
    if backend == "tensorflow":
        import tensorflow as tf

        return None if tf.is_symbolic_tensor(x) else x.numpy()
    if backend == "jax":
        import jax

        if isinstance(x, jax.core.Tracer):
            return None
    if backend == "torch" and x.device.type == "meta":
        return None
    return keras.ops.convert_to_numpy(x)
