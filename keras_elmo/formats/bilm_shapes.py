"""Which arrays a biLM's weight file must hold, by its options."""

NUM_CHARACTERS = 261


def bilm_shapes(token_encoder, encoder):
    """Returns a dictionary from the weight file's keys to shapes.

    Args:
        token_encoder: Arguments of a `CharCNNEmbedding` or `TokenEmbedding`, as
            `parse_language_model_options` makes them.
        encoder: Arguments of a `BiLMEncoder`, likewise.
    """
    if "num_tokens" in token_encoder:
        size = token_encoder["num_tokens"], token_encoder["projection_dim"]
        shapes = {"embedding": size}
    else:
        shapes = _char_cnn_shapes(**token_encoder)
    return {
        **shapes,
        **lstm_shapes(
            encoder["units"], encoder["projection_dim"], encoder["num_layers"]
        ),
    }


def character_cnn_shapes(
    filters, num_highways, embedding_dim, num_characters=NUM_CHARACTERS
):
    """As `bilm_shapes`, of the convolutions and highways over characters."""
    shapes = {"char_embed": (num_characters, embedding_dim)}
    for i, (width, number) in enumerate(filters):
        shapes[f"CNN/W_cnn_{i}"] = (1, width, embedding_dim, number)
        shapes[f"CNN/b_cnn_{i}"] = (number,)
    size = sum(number for _, number in filters)
    for i in range(num_highways):
        for name in ("carry", "transform"):
            shapes[f"CNN_high_{i}/W_{name}"] = (size, size)
            shapes[f"CNN_high_{i}/b_{name}"] = (size,)
    return shapes


def lstm_shapes(units, projection_dim, num_layers):
    """As `bilm_shapes`, of the LSTMs alone."""
    shapes = {}
    for direction in range(2):
        for layer in range(num_layers):
            root = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            # The input's rows, then the state's.
            shapes[f"{root}/W_0"] = (2 * projection_dim, 4 * units)
            shapes[f"{root}/B"] = (4 * units,)
            if projection_dim != units:
                shapes[f"{root}/W_P_0"] = (units, projection_dim)
    return shapes


def _char_cnn_shapes(projection_dim, filters, num_highways, embedding_dim, **_):
    shapes = character_cnn_shapes(filters, num_highways, embedding_dim)
    size = sum(number for _, number in filters)
    if projection_dim != size:
        shapes["CNN_proj/W_proj"] = (size, projection_dim)
        shapes["CNN_proj/b_proj"] = (projection_dim,)
    return shapes
