"""The variables of a biLM: their names, shapes, and places in bilm-tf's files.

A name is a path of attributes from an `ElmoLayer` or a language model, such as
`encoder.forward_cells.0.kernel`. No layer is created.
"""

from keras_elmo.formats.array_tables import CONVOLUTION
from keras_elmo.formats.array_tables import Entry
from keras_elmo.formats.array_tables import prefixed

NUM_CHARACTERS = 261


def variable_shapes(token_encoder, encoder, fixed_weights=()):
    """Returns a dictionary from the names of variables to shapes.

    Args:
        token_encoder: Arguments of a `CharCNNEmbedding` or `LexiconEmbedding`.
        encoder: Arguments of a `BiLMEncoder`.
        fixed_weights: The `fixed_weights` of each `ScalarMix` of an
            `ElmoLayer`.
    """
    parts = {
        "token_encoder": _token_encoder_shapes(**token_encoder),
        "encoder": _encoder_shapes(**encoder),
    }
    for i, fixed in enumerate(fixed_weights):
        parts[f"scalar_mixes.{i}"] = {"gamma": ()}
        if fixed is None:
            scalars = (encoder["num_layers"] + 1,)
            parts[f"scalar_mixes.{i}"]["scalars"] = scalars
    return {
        f"{part}.{name}": shape
        for part, shapes in parts.items()
        for name, shape in shapes.items()
    }


def _token_encoder_shapes(
    projection_dim,
    filters,
    num_highways,
    embedding_dim,
    characters=None,
    words=None,
    word_embedding_dim=None,
    **_,
):
    num_characters = NUM_CHARACTERS if characters is None else len(characters)
    shapes = {"embeddings": (num_characters, embedding_dim)}
    size = 0
    for i, (width, number) in enumerate(filters):
        size += number
        shapes[f"conv_kernels.{i}"] = (width, embedding_dim, number)
        shapes[f"conv_biases.{i}"] = (number,)
    for i in range(num_highways):
        for part in ("transform", "carry"):
            shapes[f"highways.{i}.{part}_kernel"] = (size, size)
            shapes[f"highways.{i}.{part}_bias"] = (size,)
    if words is not None:
        shapes["word_embeddings"] = (len(words), word_embedding_dim)
        size += word_embedding_dim
    # A LexiconEmbedding, which has characters, always has a projection.
    if characters is not None or projection_dim not in (None, size):
        shapes["projection_kernel"] = (size, projection_dim)
        shapes["projection_bias"] = (projection_dim,)
    return shapes


def _encoder_shapes(units, num_layers, projection_dim=None, **_):
    dim = projection_dim or units
    shapes = {}
    for direction in ("forward", "backward"):
        for i in range(num_layers):
            cell = f"{direction}_cells.{i}"
            shapes[f"{cell}.kernel"] = (dim, 4 * units)
            shapes[f"{cell}.recurrent_kernel"] = (dim, 4 * units)
            shapes[f"{cell}.bias"] = (4 * units,)
            if dim != units:
                shapes[f"{cell}.projection_kernel"] = (units, dim)
    return shapes


_TOKEN_ENCODER = {
    "embeddings": Entry("char_embed"),
    "conv_kernels.#": Entry("CNN/W_cnn_#", CONVOLUTION),
    "conv_biases.#": Entry("CNN/b_cnn_#"),
    "highways.#.carry_kernel": Entry("CNN_high_#/W_carry"),
    "highways.#.carry_bias": Entry("CNN_high_#/b_carry"),
    "highways.#.transform_kernel": Entry("CNN_high_#/W_transform"),
    "highways.#.transform_bias": Entry("CNN_high_#/b_transform"),
    "projection_kernel": Entry("CNN_proj/W_proj"),
    "projection_bias": Entry("CNN_proj/b_proj"),
}
_CELL = {
    # One matrix: the rows for the input, then those for the state.
    "kernel": Entry("RNN/MultiRNNCell/Cell#/LSTMCell/W_0"),
    "recurrent_kernel": Entry("RNN/MultiRNNCell/Cell#/LSTMCell/W_0"),
    "bias": Entry("RNN/MultiRNNCell/Cell#/LSTMCell/B"),
    "projection_kernel": Entry("RNN/MultiRNNCell/Cell#/LSTMCell/W_P_0"),
}
BILM_TABLE = {
    **prefixed("token_encoder.", "", _TOKEN_ENCODER),
    **prefixed("encoder.forward_cells.#.", "RNN_0/", _CELL),
    **prefixed("encoder.backward_cells.#.", "RNN_1/", _CELL),
}

SOFTMAX_TABLE = {
    "softmax.kernel": Entry("softmax/W"),
    "softmax.bias": Entry("softmax/b"),
}
