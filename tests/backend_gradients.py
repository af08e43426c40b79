"""Gradients on the backend that the tests use."""

import keras
import numpy as np
from keras import ops


def input_gradient(function, x):
    """Returns the gradient of the scalar `function(x)` with respect to `x`."""
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        x = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = function(x)
        return tape.gradient(loss, x).numpy()
    if backend == "jax":
        import jax

        return np.asarray(jax.grad(function)(x))
    x = ops.convert_to_tensor(x).detach().clone().requires_grad_(True)
    function(x).backward()
    return x.grad.detach().cpu().numpy()


def weight_gradients(layer, loss, *args, **kwargs):
    """Computes `loss(layer(...))` and its gradients for the trainable weights.

    Returns a float and a dictionary from a variable's `path` to an array.
    """
    backend = keras.backend.backend()
    variables = layer.trainable_variables
    if backend == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            value = loss(layer(*args, **kwargs))
        found = tape.gradient(value, [v.value for v in variables])
        found = [tf.convert_to_tensor(g) for g in found]
    elif backend == "jax":
        import jax

        frozen = [v.value for v in layer.non_trainable_variables]

        def function(values):
            outputs, _ = layer.stateless_call(values, frozen, *args, **kwargs)
            return loss(outputs)

        value, found = jax.value_and_grad(function)(
            [v.value for v in variables]
        )
    else:
        layer.zero_grad()
        value = loss(layer(*args, **kwargs))
        value.backward()
        found = [v.value.grad for v in variables]
    return float(ops.convert_to_numpy(value)), {
        v.path: ops.convert_to_numpy(g) for v, g in zip(variables, found)
    }
