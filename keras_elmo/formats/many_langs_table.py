"""Maps variables to the arrays of an ELMoForManyLangs model."""

import numpy as np

from keras_elmo.formats.array_tables import TRANSPOSED
from keras_elmo.formats.array_tables import Place
from keras_elmo.formats.array_tables import Transform


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

TOKEN_EMBEDDER = {
    "token_encoder.embeddings": Place("char_emb_layer.embedding.weight"),
    "token_encoder.word_embeddings": Place("word_emb_layer.embedding.weight"),
    "token_encoder.conv_kernels.#": Place("convolutions.#.weight", TRANSPOSED),
    "token_encoder.conv_biases.#": Place("convolutions.#.bias"),
    # One matrix, whose last rows are those of the gate.
    "token_encoder.highways.#.transform_kernel": Place(
        "highways._layers.#.weight", TRANSPOSED
    ),
    "token_encoder.highways.#.carry_kernel": Place(
        "highways._layers.#.weight", _GATE_KERNEL
    ),
    "token_encoder.highways.#.transform_bias": Place("highways._layers.#.bias"),
    "token_encoder.highways.#.carry_bias": Place(
        "highways._layers.#.bias", _GATE_BIAS
    ),
    "token_encoder.projection_kernel": Place("projection.weight", TRANSPOSED),
    "token_encoder.projection_bias": Place("projection.bias"),
}


def _cells(direction):
    variables = f"encoder.{direction}_cells.#"
    arrays = f"{direction}_layer_#"
    return {
        f"{variables}.kernel": Place(
            f"{arrays}.input_linearity.weight", _LSTM_KERNEL
        ),
        f"{variables}.recurrent_kernel": Place(
            f"{arrays}.state_linearity.weight", _LSTM_KERNEL
        ),
        f"{variables}.bias": Place(
            f"{arrays}.state_linearity.bias", _LSTM_BIAS
        ),
        f"{variables}.projection_kernel": Place(
            f"{arrays}.state_projection.weight", TRANSPOSED
        ),
    }


ENCODER = {**_cells("forward"), **_cells("backward")}
