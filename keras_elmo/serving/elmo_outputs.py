"""The outputs of an `ElmoLayer`, named as in TF-Hub's `google/elmo/3`."""

from keras import ops

from keras_elmo.layers.elmo_layer import mixes_of
from keras_elmo.layers.sentence_pooling import pool_words
from keras_elmo.layers.word_vectorization import vectorization_of
from keras_elmo.models.word_model import named_elmo_outputs


class ElmoOutputs:
    """Function from ids to the named outputs of an `ElmoLayer`.

    Args:
        elmo: An `ElmoLayer`; it is built here if necessary.
    """

    returns_tokens = False

    def __init__(self, elmo):
        self.vectorization = vectorization_of(elmo.token_encoder)
        self._elmo = elmo
        if not elmo.built:
            elmo.build((None, None, *self.vectorization.indexer.token_shape))

    def __call__(self, ids):
        """Returns a dictionary of float32 tensors, zero at padding.

        Args:
            ids: int32 tensor `(batch, time, *token_shape)`.
        """
        # Each (batch, time, 2 * projection).
        layers, mask, _ = self._elmo._run_bilm(ids)
        mixes = mixes_of(self._elmo, layers, mask)
        layers = [ops.cast(x, "float32") for x in layers]
        mixes = [ops.cast(x, "float32") for x in mixes]
        if not mixes:  # The layer was created with `return_all_layers`.
            mixes = [sum(layers) / len(layers)]
        tokens = layers[0][..., : layers[0].shape[-1] // 2]
        outputs = named_elmo_outputs(tokens, layers[1:], mixes)
        outputs["default"] = pool_words(mixes[0], mask)
        return outputs
