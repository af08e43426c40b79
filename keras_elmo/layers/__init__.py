"""The layers of ELMo, from characters to the mix of the biLM's layers."""

from keras_elmo.layers.bilm_encoder import BiLMEncoder as BiLMEncoder
from keras_elmo.layers.char_cnn_embedding import (
    CharCNNEmbedding as CharCNNEmbedding,
)
from keras_elmo.layers.elmo_layer import ElmoLayer as ElmoLayer
from keras_elmo.layers.highway import Highway as Highway
from keras_elmo.layers.projected_lstm_cell import (
    ProjectedLSTMCell as ProjectedLSTMCell,
)
from keras_elmo.layers.scalar_mix import ScalarMix as ScalarMix
