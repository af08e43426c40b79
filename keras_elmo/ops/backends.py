"""What differs between Keras' backends, with one class for each of them.

The speed of TensorFlow's loops and look-ups is the matter of `fast_paths`.
"""

import contextlib

import keras
import numpy as np
from keras import ops


class Backend:
    """What holds unless a backend says otherwise."""

    name = "numpy"
    has_fast_paths = False
    """Whether `fast_paths` has code of its own for it."""
    supports_jit = True
    """Whether XLA compiles the layers."""
    unrolls_loops = False
    """Whether loops run in Python."""
    has_strings = False
    """Whether tensors may hold strings, as SavedModels need them."""
    records_eagerly = False
    """Whether eager code may be recorded for gradients."""
    compiles_each_shape = False
    """Whether functions are compiled for each shape of their arguments."""
    has_own_threads = True
    """Whether it waits forever for its threads after a fork."""

    def concrete_value(self, x):
        """Returns a tensor as a NumPy array, or `None` while it is traced."""
        return ops.convert_to_numpy(x)

    def require_in_graph(self, condition, message, x, rows):
        """`require` where values are unknown. Most graphs check nothing."""
        return x

    def inference(self):
        """Context in which nothing is stored for gradients."""
        return contextlib.nullcontext()

    def unrecorded(self, value, hidden):
        """Returns the value of a frozen variable, unknown to any gradient.

        Args:
            value: The backend's own variable or tensor.
            hidden: Boolean, whether a graph leaves it out of its variables.
        """
        return ops.stop_gradient(value)

    def any_values(self, shape, dtype):
        """Returns a tensor whose values do not matter."""
        return ops.zeros(shape, dtype)


class TensorFlow(Backend):
    name = "tensorflow"
    has_fast_paths = True
    # XLA cannot differentiate a loop of unknown length, and needs static sizes:
    # the number of distinct words and their longest length are not.
    supports_jit = False
    has_strings = True
    records_eagerly = True

    def concrete_value(self, x):
        import tensorflow as tf

        return None if tf.is_symbolic_tensor(x) else x.numpy()

    def require_in_graph(self, condition, message, x, rows):
        import tensorflow as tf

        data = [message]
        if rows is not None:
            # With one more row, as there may be none, and `argmin` needs one.
            values = tf.cast(condition, "int32")
            values = tf.pad(values, [[0, 1]], "CONSTANT", 1)
            data.append(tf.pad(rows, [[0, 1], [0, 0]])[tf.argmin(values)])
        check = tf.debugging.Assert(ops.all(condition), data, summarize=100)
        with tf.control_dependencies([check]):
            return tf.identity(x)

    def unrecorded(self, value, hidden):
        import tensorflow as tf

        # Outside of a replica, it is not known which of the copies is meant.
        if not isinstance(value, tf.Variable) or (
            tf.distribute.in_cross_replica_context()
        ):
            return tf.stop_gradient(value)
        if not (hidden or tf.executing_eagerly()):
            graph = tf.compat.v1.get_default_graph()
            if hasattr(graph, "watch_variable"):
                graph.watch_variable(value)
        return tf.raw_ops.ReadVariableOp(
            resource=value.handle, dtype=value.dtype
        )

    def any_values(self, shape, dtype):
        import tensorflow as tf

        # Memory is only used once it is written to, so this saves memory while
        # the file's values are loaded.
        return tf.raw_ops.Empty(shape=shape, dtype=dtype, init=False)


class Jax(Backend):
    name = "jax"
    compiles_each_shape = True

    def concrete_value(self, x):
        import jax

        if isinstance(x, jax.core.Tracer):
            return None
        return super().concrete_value(x)


class Torch(Backend):
    name = "torch"
    unrolls_loops = True
    records_eagerly = True
    has_own_threads = False

    def concrete_value(self, x):
        return None if x.device.type == "meta" else super().concrete_value(x)

    def inference(self):
        import torch

        return torch.inference_mode()


_BACKENDS = {b.name: b for b in (TensorFlow(), Jax(), Torch(), Backend())}


def backend():
    """Returns the `Backend` that Keras uses."""
    return _BACKENDS[keras.backend.backend()]


def concrete_value(x):
    """Returns `x` as a NumPy array, or `None` while a function is traced."""
    if isinstance(x, np.ndarray):
        return x
    if isinstance(x, keras.KerasTensor):
        return None
    return backend().concrete_value(x)


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
    if isinstance(condition, keras.KerasTensor):
        return x
    return backend().require_in_graph(condition, message, x, rows)
