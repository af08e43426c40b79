"""How the layers read their weights."""

import contextlib
import contextvars

import keras
from keras import ops

_hides_frozen = contextvars.ContextVar("hides_frozen", default=False)


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


@contextlib.contextmanager
def hide_frozen_weights():
    """Within, a TensorFlow graph is not told which frozen weights it reads.

    It must know them to be exported, but tells the tapes that are recording
    when it is called.
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

    # Which of the copies is meant is not known outside of a replica.
    if not isinstance(value, tf.Variable) or (
        tf.distribute.in_cross_replica_context()
    ):
        return tf.stop_gradient(value)
    if not (_hides_frozen.get() or tf.executing_eagerly()):
        graph = tf.compat.v1.get_default_graph()
        if hasattr(graph, "watch_variable"):
            graph.watch_variable(value)
    return tf.raw_ops.ReadVariableOp(resource=value.handle, dtype=value.dtype)
