"""Reading of the layers' weights."""

import contextlib
import contextvars

from keras import ops

from keras_elmo.ops.backends import backend

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
        value = backend().unrecorded(value, hidden=_hides_frozen.get())
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
