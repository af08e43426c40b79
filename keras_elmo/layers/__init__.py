"""The layers of ELMo, from characters to the mix of the biLM's layers."""

from keras_elmo.layers.bilm_encoder import BiLMEncoder
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.layers.highway import Highway
from keras_elmo.layers.projected_lstm_cell import ProjectedLSTMCell
from keras_elmo.layers.scalar_mix import ScalarMix
from keras_elmo.layers.token_embedding import TokenEmbedding

__all__ = [
    "BiLMEncoder",
    "CharCNNEmbedding",
    "ElmoLayer",
    "Highway",
    "ProjectedLSTMCell",
    "ScalarMix",
    "TokenEmbedding",
]
