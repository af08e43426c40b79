"""Whole functions compiled in eager code, instead of single operations."""

import keras
import numpy as np
from keras import ops

from keras_elmo.ops.backends import backend
from keras_elmo.ops.inputs import arguments_are_checked
from keras_elmo.ops.inputs import concrete_value
from keras_elmo.ops.private_keras import in_stateless_scope
from keras_elmo.ops.private_keras import sublayers


class Compiled:
    """Calls a function of tensors, compiled if the code around it is eager.

    Eager code often spends longer on launching the operations of a recurrent
    loop than on computing them.

    On TensorFlow, one graph serves any size of all axes, except the last axis
    of floating-point tensors. Gradients flow through it.

    JAX compiles each shape, so axes are padded with zeros to a few sizes:
    powers of two, and halfway between. The results have the padded sizes,
    and no gradients. So a function that returns a state must take a mask, with
    which it leaves the state as it is where an axis is padded. PyTorch runs
    the function as it is.

    Args:
        function: Takes tensors, nests of them, or `None`; its keyword arguments
            are not tensors. Returns nests of tensors. It must not have side
            effects or check values: its Python code runs only once for many
            calls.
        layer: The layer whose weights it reads.
        least_sizes: For each argument the smallest sizes of the axes to pad,
            the first axes, in JAX. `None` not to compile there.
    """

    def __init__(self, function, layer, least_sizes=None):
        self._function = function
        self._layer = layer
        self._least_sizes = least_sizes
        self._compiled = {}

    def __call__(self, *args, **options):
        current = backend()
        if in_stateless_scope():
            # It replaces the variables' values; a graph would keep these.
            return self._function(*args, **options)
        if current.makes_graphs:
            import tensorflow as tf

            # Not eager just for debugging.
            if tf.executing_eagerly() and not tf.config.functions_run_eagerly():
                return self._call_graph(args, options)
        if current.compiles_each_shape and self._least_sizes is not None:
            tensors = [x for x in keras.tree.flatten(args) if x is not None]
            if all(concrete_value(x) is not None for x in tensors):
                return self._call_jitted(args, options)
        return self._function(*args, **options)

    def _call_graph(self, args, options):
        import tensorflow as tf

        args = _map_tensors(ops.convert_to_tensor, args)
        specs = _map_tensors(_spec_of_any_size, args)
        key = (*self._key(options), *keras.tree.flatten(specs))
        if key not in self._compiled:
            function = tf.function(
                lambda *args: self._function(*args, **options), autograph=False
            )
            token = arguments_are_checked.set(True)
            try:
                graph = function.get_concrete_function(*specs)
            finally:
                arguments_are_checked.reset(token)
            self._compiled[key] = graph, self._has_gradients(graph, specs)
        graph, has_gradients = self._compiled[key]
        if has_gradients:
            return graph(*args)
        # It would report its variables, which are frozen, to gradient tapes.
        with tf.init_scope():  # Pauses the tapes.
            return graph(*args)

    def _has_gradients(self, graph, specs):
        read = {id(variable) for variable in graph.variables}
        return any(
            weight.trainable and id(weight.value) in read
            for weight in self._layer.weights
        ) or any(
            spec is not None and spec.dtype.is_floating
            for spec in keras.tree.flatten(specs)
        )

    def _call_jitted(self, args, options):
        import jax

        variables = self._layer.variables

        def stateless_call(values, args):
            # Otherwise the weights would be compiled as constants.
            with keras.StatelessScope(list(zip(variables, values))):
                return self._function(*args, **options)

        key = self._key(options)
        if key not in self._compiled:
            self._compiled[key] = jax.jit(stateless_call)
        args = [
            _map_tensors(lambda x, n=least: _filled_up(x, n), arg)
            for arg, least in zip(args, self._least_sizes, strict=True)
        ]
        return self._compiled[key]([v.value for v in variables], args)

    def _key(self, options):
        parts = [self._layer, *sublayers(self._layer)]
        dtypes = [part.compute_dtype for part in parts]
        flags = [weight.trainable for weight in self._layer.weights]
        return (*flags, *dtypes, *options.items())


def call_with_arrays(function, *args, **options):
    """Calls a function of tensors with arrays, and returns arrays.

    Nothing is stored for gradients.
    """
    with backend().inference():
        outputs = function(*args, **options)
        return keras.tree.map_structure(ops.convert_to_numpy, outputs)


def _map_tensors(function, nest):
    return keras.tree.map_structure(function, nest, none_is_leaf=False)


def _spec_of_any_size(x):
    import tensorflow as tf

    shape = [None] * len(x.shape)
    if x.dtype.is_floating:
        shape[-1:] = x.shape[-1:]
    return tf.TensorSpec(shape, x.dtype)


def _filled_up(x, least_sizes):
    x = concrete_value(x)
    missing = [
        (0, _size_to_fill(size, least) - size)
        for size, least in zip(x.shape, least_sizes)
    ]
    missing += [(0, 0)] * (x.ndim - len(missing))
    return ops.convert_to_tensor(np.pad(x, missing))


def _size_to_fill(number, least):
    size = least
    while size < number:
        size *= 2
    between = size // 4 * 3
    return between if least <= between and number <= between else size
