"""Reading of the layers' weights."""

import contextlib
import contextvars

import keras
from keras import ops

_hides_frozen = contextvars.ContextVar("hides_frozen", default=False)


def read_weight(variable, dtype=None):
    """Returns the value of a variable, as a constant if it is frozen.

    Keras does not update frozen variables, but a `tf.GradientTape` still
    records everything that is computed from them, and TensorFlow then computes,
    or at least traces, their gradients. Variables read by this function are
    unknown to the tape.

    Args:
        variable: A `keras.Variable` created with `autocast=False`, because the
            tape would record a cast.
        dtype: Dtype to cast the value to. Defaults to the variable's own dtype.

    Returns:
        A tensor.
    """
    value = variable.value
    if not variable.trainable:
        value = _unrecorded(value)
    value = ops.convert_to_tensor(value)
    return value if dtype is None else ops.cast(value, dtype)


def trainable_flags(layer):
    """Whether each weight of a layer is trainable: a tuple of booleans."""
    return tuple(weight.trainable for weight in layer.weights)


@contextlib.contextmanager
def hide_frozen_weights():
    """Context in which a TensorFlow graph does not track its frozen weights.

    A graph must track them to be exported, but when called, it reports all
    tracked weights to recording tapes.
    """
    token = _hides_frozen.set(True)
    try:
        yield
    finally:
        _hides_frozen.reset(token)


def _unrecorded(value):
    if keras.backend.backend() != "tensorflow":
        return ops.stop_gradient(value)
    import tensorflow as tf

    # Outside of a replica, it is not known which of the copies is meant.
    if not isinstance(value, tf.Variable) or (
        tf.distribute.in_cross_replica_context()
    ):
        return tf.stop_gradient(value)
    if not (_hides_frozen.get() or tf.executing_eagerly()):
        graph = tf.compat.v1.get_default_graph()
        if hasattr(graph, "watch_variable"):
            graph.watch_variable(value)
    return tf.raw_ops.ReadVariableOp(resource=value.handle, dtype=value.dtype)
