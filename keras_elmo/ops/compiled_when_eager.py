"""Graphs instead of eager operations, for speed. TensorFlow only."""

import keras

from keras_elmo.ops.fast_paths import fast_paths_enabled
from keras_elmo.ops.private_keras import in_stateless_scope
from keras_elmo.ops.private_keras import sublayers
from keras_elmo.ops.weights import hide_frozen_weights
from keras_elmo.ops.weights import trainable_flags


class CompiledWhenEager:
    """Calls a function of tensors, as a graph when TensorFlow runs eagerly.

    In eager mode, TensorFlow often spends longer on launching the operations of
    a recurrent loop than on computing them, and `keras.ops` adds as much again
    to each. A graph is traced once for each value of the keyword arguments and
    of the weights' `trainable` flags. It works for any size of all axes, except
    the last axis of floating-point tensors.

    Gradients flow through it. A gradient tape records all or nothing of a
    graph, so each part with its own weights should have its own graph: frozen
    parts then cost no gradient computation.

    Args:
        function: Takes tensors, lists of them, or `None`; its keyword arguments
            are not tensors. Returns tensors, or lists of them. It must not have
            side effects or check values: its Python code runs only once for
            many calls.
        layer: The layer whose weights it reads, if gradients may be computed.
    """

    def __init__(self, function, layer=None):
        self._function = function
        self._layer = layer
        self._compiled = {}

    def __call__(self, *args, **options):
        if not compiles_now():
            return self._function(*args, **options)
        given = [x for x in args if x is not None]
        absent = tuple(x is None for x in args)
        specs = keras.tree.map_structure(_spec_of_any_size, given)
        flags: tuple = ()
        if self._layer:
            parts = [self._layer, *sublayers(self._layer)]
            flags = trainable_flags(self._layer)
            flags += tuple(part.compute_dtype for part in parts)
        kinds = tuple(keras.tree.flatten(specs))
        key = (absent, kinds, flags, *options.items())
        if key not in self._compiled:
            self._compiled[key] = self._trace(specs, absent, options)
        return self._compiled[key](*given)

    def _trace(self, specs, absent, options):
        import tensorflow as tf

        def function(*given):
            given = iter(given)
            args = [None if x else next(given) for x in absent]
            return self._function(*args, **options)

        function = tf.function(function, autograph=False)
        with hide_frozen_weights():
            return function.get_concrete_function(*specs)


def compiles_now():
    """Whether a `CompiledWhenEager` called now would run a graph."""
    # A stateless scope replaces the variables' values, and a graph would keep
    # the replacements.
    if not fast_paths_enabled() or in_stateless_scope():
        return False
    import tensorflow as tf

    # No graph either when debugging with `run_functions_eagerly`.
    return tf.executing_eagerly() and not tf.config.functions_run_eagerly()


def _spec_of_any_size(x):
    import tensorflow as tf

    shape = [None] * len(x.shape)
    if x.dtype.is_floating:
        shape[-1:] = x.shape[-1:]
    return tf.TensorSpec(shape, x.dtype)
