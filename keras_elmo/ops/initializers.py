import contextlib
import contextvars

import keras

_leaves_out_random = contextvars.ContextVar("leaves_out_random", default=False)


def fan_in_normal():
    """Normal with deviation `1 / sqrt(fan-in)`, as biLMs are initialised."""
    return keras.initializers.VarianceScaling(
        scale=1.0, mode="fan_in", distribution="untruncated_normal"
    )


def joint_glorot_uniform(features, state, gates):
    """Glorot's uniform, of a kernel `(features + state, gates)` cut in two.

    As TensorFlow's LSTM cells, and so biLMs, are initialised. Far larger values
    let a stack find a second, worse state to stay in, when it starts from zero.
    """
    limit = (6 / (features + state + gates)) ** 0.5
    return keras.initializers.RandomUniform(-limit, limit)


@contextlib.contextmanager
def leave_out_random_values():
    """Builds large matrices without values, which come from a file next.

    To draw the random values of a large model takes longer than to read its
    weights.
    """
    token = _leaves_out_random.set(True)
    try:
        yield
    finally:
        _leaves_out_random.reset(token)


def for_large_matrix(initializer):
    """`initializer`, or any values where random ones are left out."""
    return _any_values if _leaves_out_random.get() else initializer


def _any_values(shape, dtype):
    if keras.backend.backend() != "tensorflow":
        return keras.ops.zeros(shape, dtype)
    import tensorflow as tf

    # Memory that is not written to is not taken up, next to the file's values.
    return tf.raw_ops.Empty(shape=shape, dtype=dtype, init=False)
