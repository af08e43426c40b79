"""The layers of ELMo, from characters to the mix of the biLM's layers."""

# First, as Keras' import runs `registration`, which imports all layers: none of
# them may be half imported then.
import keras  # noqa: F401
