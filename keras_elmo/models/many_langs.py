"""Layers from a model of ELMoForManyLangs."""

from keras_elmo.formats.many_langs import open_many_langs
from keras_elmo.layers.bilm_encoder import BiLMEncoder
from keras_elmo.layers.lexicon_embedding import LexiconEmbedding
from keras_elmo.models.built_layers import build_layer
from keras_elmo.models.variables import assign_arrays


def load_many_langs(cls, directory, *, trainable=False, **kwargs):
    """Makes an `ElmoLayer` of class `cls`; see `ElmoLayer.from_many_langs`."""
    dtype = kwargs.get("dtype")
    with open_many_langs(directory) as files:
        arrays = files.read_arrays()
    token_encoder = LexiconEmbedding(
        dtype=dtype, name="token_encoder", **files.token_encoder
    )
    encoder = BiLMEncoder(dtype=dtype, name="encoder", **files.encoder)
    layer = build_layer(cls(token_encoder, encoder, **kwargs))
    assign_arrays(layer, arrays)
    token_encoder.trainable = trainable
    encoder.trainable = trainable
    return layer
