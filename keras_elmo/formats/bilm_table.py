"""Maps variables to the arrays of a biLM's files, in bilm-tf's format."""

from keras_elmo.formats.array_tables import CONVOLUTION
from keras_elmo.formats.array_tables import Place


def _cells(direction, number):
    variables = f"encoder.{direction}_cells.#"
    arrays = f"RNN_{number}/RNN/MultiRNNCell/Cell#/LSTMCell"
    return {
        # One matrix: the rows for the input, then those for the state.
        f"{variables}.kernel": Place(f"{arrays}/W_0"),
        f"{variables}.recurrent_kernel": Place(f"{arrays}/W_0"),
        f"{variables}.bias": Place(f"{arrays}/B"),
        f"{variables}.projection_kernel": Place(f"{arrays}/W_P_0"),
    }


_ENCODER = {**_cells("forward", 0), **_cells("backward", 1)}

_CHARACTERS = {
    "token_encoder.embeddings": Place("char_embed"),
    "token_encoder.conv_kernels.#": Place("CNN/W_cnn_#", CONVOLUTION),
    "token_encoder.conv_biases.#": Place("CNN/b_cnn_#"),
    "token_encoder.highways.#.carry_kernel": Place("CNN_high_#/W_carry"),
    "token_encoder.highways.#.carry_bias": Place("CNN_high_#/b_carry"),
    "token_encoder.highways.#.transform_kernel": Place(
        "CNN_high_#/W_transform"
    ),
    "token_encoder.highways.#.transform_bias": Place("CNN_high_#/b_transform"),
    "token_encoder.projection_kernel": Place("CNN_proj/W_proj"),
    "token_encoder.projection_bias": Place("CNN_proj/b_proj"),
    **_ENCODER,
}
_WORDS = {"token_encoder.embeddings": Place("embedding"), **_ENCODER}

SOFTMAX = {
    "softmax.kernel": Place("softmax/W"),
    "softmax.bias": Place("softmax/b"),
}


def bilm_table(token_encoder):
    """Returns the table of a weight file for a token encoder's arguments."""
    return _WORDS if "num_tokens" in token_encoder else _CHARACTERS
