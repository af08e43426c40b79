"""How the layers draw, read and apply their weights."""

import contextlib
import contextvars

import keras
from keras import ops

from keras_elmo.ops.backends import backend

# The initializer of large matrices, whatever a layer asks for.
_of_large_matrices = contextvars.ContextVar("of_large_matrices", default=None)


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


def new_weight(layer, name, shape, initializer=None, **kwargs):
    """Adds a weight for `read_weight` to a layer; Keras does not cast it.

    By default, it starts as in biLMs: a vector with zeros, a matrix with a
    normal distribution of deviation `1 / sqrt(fan-in)`.
    """
    if len(shape) == 2:
        initializer = for_large_matrix(
            initializer
            or keras.initializers.VarianceScaling(
                1.0, "fan_in", "untruncated_normal"
            )
        )
    return layer.add_weight(
        shape, initializer or "zeros", autocast=False, name=name, **kwargs
    )


_hides_frozen = contextvars.ContextVar("hides_frozen", default=False)


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


def _unrecorded(value):
    """Returns the value of a frozen variable, unknown to any gradient."""
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


def look_up(ids, embeddings, dtype):
    """Looks up ids in a variable: id `i` is row `i - 1`, id 0 any row.

    Args:
        ids: Integer tensor `(...)`.
        embeddings: A variable `(rows, dim)`.
        dtype: Dtype of the result.

    Returns:
        Tensor `(..., dim)`.
    """
    # Keras counts negative indices from the end: move them out of range.
    rows = ops.where(ids < 0, embeddings.shape[0], ops.maximum(ids - 1, 0))
    return ops.cast(ops.take(read_weight(embeddings), rows, axis=0), dtype)


def affine(x, kernel, bias):
    """Returns `x @ kernel + bias`, for two variables, in the dtype of `x`."""
    kernel, bias = read_weight(kernel, x.dtype), read_weight(bias, x.dtype)
    return ops.matmul(x, kernel) + bias


def wide_dtype(dtype):
    """The dtype for sums: float32 for half precision, otherwise `dtype`.

    `keras.backend.result_type` with float32 narrows float64 on JAX and PyTorch.
    """
    return "float32" if dtype in ("bfloat16", "float16") else dtype
