"""Facts about a model, as names and texts."""


def size_facts(token_encoder, encoder):
    """Yields facts about a model's sizes.

    Args:
        token_encoder: Arguments of the token encoder.
        encoder: Arguments of the `BiLMEncoder`.
    """
    width = token_encoder.get("max_characters_per_token")
    if width:
        yield "input", f"characters of words, {width} ids per word"
    number = token_encoder.get("num_tokens")
    number = number or len(token_encoder.get("words") or ())
    if number:
        yield "words with vectors", f"{number:,}"
    layers, dim = encoder["num_layers"], encoder["projection_dim"]
    lstms = f"{layers} layers in each direction, {encoder['units']:,} units"
    if dim:
        lstms += f", projection {dim:,}"
    yield "LSTMs", lstms
    yield (
        "vectors",
        f"{layers + 1} layers, {2 * (dim or encoder['units']):,} wide",
    )


def parameter_fact(arrays):
    """Returns a fact about a model's arrays, a dictionary: name and text."""
    number = sum(array.size for array in arrays.values())
    dtypes = ", ".join(sorted({str(a.dtype) for a in arrays.values()}))
    return "parameters", f"{number:,} ({dtypes})"
