"""How the layers read their weights."""

import keras
from keras import ops


def read_weight(variable, dtype=None):
    """Returns the value of a variable, as a constant while it is frozen.

    Keras leaves frozen variables out of the list of those to update, but a
    `tf.GradientTape` still records all that is computed from them, and
    TensorFlow then computes, or at least traces, their gradients. Read here,
    they are unknown to the tape.

    Args:
        variable: A `keras.Variable` made with `autocast=False`, as a cast in
            between is recorded.
        dtype: What to cast the value to. Defaults to the variable's own dtype.

    Returns:
        A tensor.
    """
    value = variable.value
    if not variable.trainable:
        value = _unrecorded(value)
    value = ops.convert_to_tensor(value)
    return value if dtype is None else ops.cast(value, dtype)


def trainable_flags(layer):
    """Which weights of a layer are trainable: a tuple of booleans."""
    return tuple(weight.trainable for weight in layer.weights)


def _unrecorded(value):
    if keras.backend.backend() != "tensorflow":
        return ops.stop_gradient(value)
    import tensorflow as tf

    # Which of the copies is meant is not known outside of a replica.
    if isinstance(value, tf.Variable) and not (
        tf.distribute.in_cross_replica_context()
    ):
        return tf.raw_ops.ReadVariableOp(
            resource=value.handle, dtype=value.dtype
        )
    return tf.stop_gradient(value)
