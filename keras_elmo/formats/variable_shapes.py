"""The names and shapes of a biLM's variables, from its layers' arguments.

A name is a path of attributes from an `ElmoLayer` or a language model, such as
`encoder.forward_cells.0.kernel`. No layer is created.
"""

NUM_CHARACTERS = 261


def variable_shapes(token_encoder, encoder, fixed_weights=()):
    """Returns a dictionary from the names of variables to shapes.

    Args:
        token_encoder: Arguments of a `CharCNNEmbedding`, `LexiconEmbedding` or
            `TokenEmbedding`.
        encoder: Arguments of a `BiLMEncoder`.
        fixed_weights: The `fixed_weights` of each `ScalarMix` of an
            `ElmoLayer`.
    """
    shapes = {
        **_within("token_encoder", _token_encoder_shapes(token_encoder)),
        **_within("encoder", _bilm_encoder_shapes(**encoder)),
    }
    for i, fixed in enumerate(fixed_weights):
        shapes[f"scalar_mixes.{i}.gamma"] = ()
        if fixed is None:
            shapes[f"scalar_mixes.{i}.scalars"] = (encoder["num_layers"] + 1,)
    return shapes


def _token_encoder_shapes(arguments):
    if "num_tokens" in arguments:
        size = arguments["num_tokens"], arguments["projection_dim"]
        return {"embeddings": size}
    if "characters" in arguments:
        return _lexicon_embedding_shapes(**arguments)
    return _char_cnn_embedding_shapes(**arguments)


def _char_cnn_embedding_shapes(projection_dim=None, **arguments):
    shapes, size = _character_cnn_shapes(NUM_CHARACTERS, **arguments)
    if projection_dim in (None, size):
        return shapes
    return {**shapes, **_projection_shapes(size, projection_dim)}


def _lexicon_embedding_shapes(
    characters, projection_dim, words=None, word_embedding_dim=None, **arguments
):
    shapes, size = _character_cnn_shapes(len(characters), **arguments)
    if words is not None:
        shapes["word_embeddings"] = (len(words), word_embedding_dim)
        size += word_embedding_dim
    return {**shapes, **_projection_shapes(size, projection_dim)}


def _character_cnn_shapes(
    num_characters, filters, num_highways, embedding_dim, **_
):
    """Returns the shapes of a `CharacterCNN`, and the size of its vectors."""
    shapes = {"embeddings": (num_characters, embedding_dim)}
    for i, (width, number) in enumerate(filters):
        shapes[f"conv_kernels.{i}"] = (width, embedding_dim, number)
        shapes[f"conv_biases.{i}"] = (number,)
    size = sum(number for _, number in filters)
    for i in range(num_highways):
        for part in ("transform", "carry"):
            shapes[f"highways.{i}.{part}_kernel"] = (size, size)
            shapes[f"highways.{i}.{part}_bias"] = (size,)
    return shapes, size


def _projection_shapes(size, projection_dim):
    return {
        "projection_kernel": (size, projection_dim),
        "projection_bias": (projection_dim,),
    }


def _bilm_encoder_shapes(units, num_layers, projection_dim=None, **_):
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


def _within(part, shapes):
    return {f"{part}.{name}": shape for name, shape in shapes.items()}
