"""The outputs of an `ElmoLayer`, named as in TF-Hub's `google/elmo/3`."""

from keras import ops

from keras_elmo.layers.elmo_layer import mixes_of
from keras_elmo.ops.padding import output_mask
from keras_elmo.serving.output_names import named_elmo_outputs
from keras_elmo.text.word_vectorization import vectorization_of


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
        elmo = self._elmo
        mask = elmo.token_encoder.compute_mask(ids, None)
        if mask is None:
            mask = ops.ones(ops.shape(ids)[:2], dtype="bool")
        mask = output_mask(
            mask, elmo.add_sentence_boundaries, elmo.keep_sentence_boundaries
        )
        # Each (batch, time, 2 * projection).
        layers = ops.unstack(
            elmo.all_layers(ids), elmo.encoder.num_layers + 1, axis=-3
        )
        mixes = mixes_of(elmo, layers, mask)
        layers = [ops.cast(x, "float32") for x in layers]
        mixes = [ops.cast(x, "float32") for x in mixes]
        if not mixes:  # The layer was created with `return_all_layers`.
            mixes = [sum(layers) / len(layers)]
        tokens = layers[0][..., : layers[0].shape[-1] // 2]
        outputs = named_elmo_outputs(tokens, layers[1:], mixes)
        # The mean over the words; zeros for a sentence without words.
        number = ops.sum(ops.cast(mask, "float32"), axis=1, keepdims=True)
        total = ops.sum(mixes[0], axis=1)  # (batch, 2 * projection)
        outputs["default"] = total / ops.maximum(number, 1)
        return outputs
