"""One compilation a shape, in place of one an operation. JAX only."""

import keras


class CompiledInJax:
    """Calls a function of tensors, compiled once for each of their shapes.

    No gradients are taken through it.

    Args:
        function: Takes tensors and returns tensors, or lists of them. It must
            do nothing else: it is run once for many calls.
        layer: The layer whose weights it reads.
    """

    def __init__(self, function, layer):
        import jax

        self._layer = layer
        variables = layer.variables

        def run(values, args):
            # Read as they are, the weights would be constants.
            with keras.StatelessScope(list(zip(variables, values))):
                return function(*args)

        self._compiled = jax.jit(run)

    def __call__(self, *args):
        values = [variable.value for variable in self._layer.variables]
        return self._compiled(values, args)
