"""Checks of values that only a run brings."""

import keras
from keras import ops

from keras_elmo.ops.ids import concrete_value


def require(condition, message, x):
    """Returns `x`, or raises an error unless all of `condition` is true.

    Eagerly the error is a `ValueError`. In a compiled function it is
    TensorFlow's `InvalidArgumentError`; the other backends, and XLA, cannot
    look at values there.

    Args:
        condition: Boolean tensor.
        message: String.
        x: Tensor.
    """
    values = concrete_value(condition)
    if values is not None:
        if not values.all():
            raise ValueError(message)
        return x
    if keras.backend.backend() != "tensorflow" or isinstance(
        condition, keras.KerasTensor
    ):
        return x
    import tensorflow as tf

    check = tf.debugging.Assert(ops.all(condition), [message])
    with tf.control_dependencies([check]):
        return tf.identity(x)
