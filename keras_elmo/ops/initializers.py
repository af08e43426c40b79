import contextlib
import contextvars

import keras

from keras_elmo.ops.backends import backend

# The initializer of large matrices, whatever a layer asks for.
_of_large_matrices = contextvars.ContextVar("of_large_matrices", default=None)


def fan_in_normal():
    """Normal with deviation `1 / sqrt(fan-in)`, the initialisation of biLMs."""
    return keras.initializers.VarianceScaling(
        scale=1.0, mode="fan_in", distribution="untruncated_normal"
    )


def joint_glorot_uniform(features, state, gates):
    """Glorot uniform for a kernel `(features + state, gates)` cut in two.

    The initialisation of TensorFlow's LSTM cells and therefore of biLMs. With
    much larger values, a stack that starts from zero can settle into a second,
    worse state.
    """
    limit = (6 / (features + state + gates)) ** 0.5
    return keras.initializers.RandomUniform(-limit, limit)


def with_own_values(initializer):
    """Returns a copy of an initializer that draws values of its own.

    One that is used for two weights gives both the same values, unless it is
    seeded with a `keras.random.SeedGenerator`.
    """
    if isinstance(initializer, keras.initializers.Initializer):
        return initializer.clone()
    return initializer


@contextlib.contextmanager
def leave_out_random_values():
    """Builds large matrices without initial values, to be read from a file.

    Drawing the random values of a large model takes longer than reading its
    weights.
    """
    token = _of_large_matrices.set(backend().any_values)
    try:
        yield
    finally:
        _of_large_matrices.reset(token)


def for_large_matrix(initializer):
    """Returns `initializer`, or one of arbitrary values to save time."""
    return _of_large_matrices.get() or initializer
