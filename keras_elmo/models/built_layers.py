"""Layers whose weights are read from or written to a file."""

from keras_elmo.ops.initializers import leave_out_random_values


def build_layer(layer):
    """Builds an `ElmoLayer` whose weights are assigned next; returns it."""
    with leave_out_random_values():
        layer.build((None, None, *layer.token_encoder.token_shape))
    return layer


def check_built(layer):
    """Raises `ValueError` if a layer has no weights yet."""
    if not layer.built:
        raise ValueError(
            f"Layer '{layer.name}' has no weights yet: call or build it first."
        )
