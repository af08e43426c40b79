"""What `ElmoLayer` and `BidirectionalLanguageModel` have in common."""

import keras

from keras_elmo.layers.bilm_encoder import BiLMEncoder
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding


class BiLMBase:
    """Base class of a layer or model with a token encoder and a `BiLMEncoder`.

    Args:
        token_encoder: Layer that encodes a token's ids as a vector. Defaults to
            the paper's `CharCNNEmbedding`.
        encoder: The `BiLMEncoder`. Defaults to the paper's.
        **kwargs: Base layer keyword arguments.
    """

    def __init__(self, token_encoder, encoder, **kwargs):
        # No autocast: ids stay exact, and cell states are float32 even in half
        # precision.
        super().__init__(autocast=False, **kwargs)
        dtype = self.dtype_policy
        self.token_encoder = token_encoder or CharCNNEmbedding(
            dtype=dtype, name="token_encoder"
        )
        self.encoder = encoder or BiLMEncoder(dtype=dtype, name="encoder")
        for argument in ("token_encoder", "encoder"):
            layer = getattr(self, argument)
            if not isinstance(layer, keras.layers.Layer):
                raise ValueError(
                    f"`{argument}` must be a Keras layer. To load a model, use "
                    "`from_preset`, or `ElmoLayer.from_bilm` for an options "
                    f"file and a weight file. Received: {layer!r}"
                )

    def _build_bilm(self, token_shape):
        """Builds the two parts, and returns the size of a token's vector."""
        build_once(self.token_encoder, (None, *token_shape))
        ids = keras.KerasTensor((None, *token_shape), "int32")
        dim = self.token_encoder.compute_output_spec(ids).shape[-1]
        if dim != self.encoder.direction_dim:
            raise ValueError(
                "`token_encoder` and one direction of `encoder` must return "
                "vectors of the same size. Received: sizes "
                f"{dim} and {self.encoder.direction_dim}"
            )
        build_once(self.encoder, (None, None, dim))
        return dim

    def get_initial_state(self, batch_size: int) -> list:
        """Returns the state before a sentence: zeros, as a list of tensors.

        Args:
            batch_size: Integer, the number of sentences.
        """
        return self.encoder.get_initial_state(batch_size)

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "token_encoder": serialize(self.token_encoder),
            "encoder": serialize(self.encoder),
        }

    @classmethod
    def from_config(cls, config):
        parts = {
            key: keras.saving.deserialize_keras_object(config[key])
            for key in ("token_encoder", "encoder", "scalar_mix")
            if config.get(key)
        }
        return super().from_config({**config, **parts})


def build_once(layer, input_shape):
    if not layer.built:
        layer.build(input_shape)
