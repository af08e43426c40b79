"""Tensor functions that the layers share, without variables."""

# First, as Keras' import runs `registration`, which imports all layers: none of
# them may be half imported then.
import keras  # noqa: F401
