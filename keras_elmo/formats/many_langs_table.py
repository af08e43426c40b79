"""Maps variables to the arrays of an ELMoForManyLangs model."""

import numpy as np

from keras_elmo.formats.array_tables import TRANSPOSED
from keras_elmo.formats.array_tables import Entry
from keras_elmo.formats.array_tables import Transform
from keras_elmo.formats.array_tables import prefixed


def _reordered(array):
    """Converts their order of the gates to ours, along the first axis.

    Theirs is input, forget, new input, output; ours is input, new input,
    forget, output.
    """
    i, f, j, o = np.split(array, 4)
    return np.concatenate([i, j, f, o])


def _bias(array):
    # Our forget gate adds 1 to its bias; theirs does not.
    ours = np.repeat(np.float32([0, 0, 1, 0]), len(array) // 4)
    return _reordered(array) - ours


_LSTM_KERNEL = Transform(TRANSPOSED.shape, lambda array: _reordered(array).T)
_LSTM_BIAS = Transform(read=_bias)
# Their gate multiplies the input, ours the transformed input. As
# 1 - sigmoid(z) = sigmoid(-z), all weights of the gate change sign.
_GATE_KERNEL = Transform(TRANSPOSED.shape, lambda array: -array.T)
_GATE_BIAS = Transform(read=np.negative)

_TOKEN_EMBEDDER = {
    "embeddings": Entry("char_emb_layer.embedding.weight"),
    "word_embeddings": Entry("word_emb_layer.embedding.weight"),
    "conv_kernels.#": Entry("convolutions.#.weight", TRANSPOSED),
    "conv_biases.#": Entry("convolutions.#.bias"),
    # One matrix, whose last rows are those of the gate.
    "highways.#.transform_kernel": Entry(
        "highways._layers.#.weight", TRANSPOSED
    ),
    "highways.#.carry_kernel": Entry("highways._layers.#.weight", _GATE_KERNEL),
    "highways.#.transform_bias": Entry("highways._layers.#.bias"),
    "highways.#.carry_bias": Entry("highways._layers.#.bias", _GATE_BIAS),
    "projection_kernel": Entry("projection.weight", TRANSPOSED),
    "projection_bias": Entry("projection.bias"),
}
_CELL = {
    "kernel": Entry("input_linearity.weight", _LSTM_KERNEL),
    "recurrent_kernel": Entry("state_linearity.weight", _LSTM_KERNEL),
    "bias": Entry("state_linearity.bias", _LSTM_BIAS),
    "projection_kernel": Entry("state_projection.weight", TRANSPOSED),
}
TOKEN_EMBEDDER = prefixed("token_encoder.", "", _TOKEN_EMBEDDER)
ENCODER = {
    **prefixed("encoder.forward_cells.#.", "forward_layer_#.", _CELL),
    **prefixed("encoder.backward_cells.#.", "backward_layer_#.", _CELL),
}
