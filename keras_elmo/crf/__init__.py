"""A conditional random field over tag sequences: layers, loss, accuracy."""

# First, as Keras' import runs `registration`, which imports all layers: none of
# them may be half imported then.
import keras  # noqa: F401
