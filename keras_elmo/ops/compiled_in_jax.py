"""Compiles whole functions instead of single operations. JAX only."""

import keras
import numpy as np

from keras_elmo.ops.checks import concrete_value
from keras_elmo.ops.private_keras import in_stateless_scope


class CompiledInJax:
    """Calls a function of tensors, compiled once for each shape.

    Gradients are not supported.

    Args:
        function: Takes tensors and returns tensors, or lists of them. It must
            not have side effects: its Python code runs only once per shape.
        layer: The layer whose weights it reads.
    """

    def __init__(self, function, layer):
        import jax

        self._layer = layer
        variables = layer.variables

        def run(values, args):
            # Otherwise the weights would be compiled as constants.
            with keras.StatelessScope(list(zip(variables, values))):
                return function(*args)

        self._compiled = jax.jit(run)

    def __call__(self, *args):
        values = [variable.value for variable in self._layer.variables]
        return self._compiled(values, args)


class CompiledForFewShapes:
    """Calls a function of ids and their mask, compiled for only a few shapes.

    Rows and steps of both are padded with zeros to powers of two, so that
    batches of similar shape share a compiled function. The results have the
    padded size.

    Args:
        function: Takes ids `(rows, steps, ...)`, a mask `(rows, steps)` or
            `None`, and keyword arguments that are not tensors. Otherwise as for
            `CompiledInJax`.
        layer: As for `CompiledInJax`.
    """

    def __init__(self, function, layer):
        self._function = function
        self._layer = layer
        self._compiled = {}

    def __call__(self, ids, mask, **options):
        key = (len(self._layer.variables), *options.items())
        if key not in self._compiled:

            def function(ids, mask):
                return self._function(ids, mask, **options)

            self._compiled[key] = CompiledInJax(function, self._layer)
        return self._compiled[key](
            *(None if x is None else _filled_up(x) for x in (ids, mask))
        )


def compiles_in_jax(*tensors):
    """Whether JAX would compile each operation on these tensors separately."""
    return (
        keras.backend.backend() == "jax"
        and not in_stateless_scope()
        and all(x is None or concrete_value(x) is not None for x in tensors)
    )


def _filled_up(x):
    x = concrete_value(x)
    missing = [
        2 ** max(0, size - 1).bit_length() - size for size in x.shape[:2]
    ]
    missing += [0] * (x.ndim - 2)
    return keras.ops.convert_to_tensor(np.pad(x, [(0, n) for n in missing]))
