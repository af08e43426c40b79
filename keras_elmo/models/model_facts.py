"""Facts about a model, as text."""

from keras_elmo.text.special_words import BEGIN_SENTENCE
from keras_elmo.text.special_words import END_SENTENCE
from keras_elmo.text.special_words import UNKNOWN


def model_facts(token_encoder, encoder):
    """Yields names and values of facts about a model.

    Args:
        token_encoder: Arguments of the token encoder.
        encoder: Arguments of the `BiLMEncoder`.
    """
    if "filters" in token_encoder:
        number = sum(number for _, number in token_encoder["filters"])
        width = token_encoder["max_characters_per_token"]
        yield "input", f"characters of words, {width} ids per word"
        yield (
            "character CNN",
            f"{number:,} filters, highway layers: "
            f"{token_encoder['num_highways']}, {token_encoder['activation']}",
        )
    elif "num_tokens" in token_encoder:
        yield "input", f"word ids, {token_encoder['num_tokens']:,} words"
    layers, dim = encoder["num_layers"], encoder["projection_dim"]
    yield (
        "LSTMs",
        f"{layers} layers in each direction, {encoder['units']:,} units, "
        f"projection {dim}"
        + (", skip connections" if encoder["use_skip_connections"] else ""),
    )
    dim = dim or encoder["units"]
    yield "vectors", f"{layers + 1} layers, {2 * dim:,} wide"


def characters_fact(content):
    """Yields `n_characters` of an options file's content, if it has it."""
    if "char_cnn" in content:
        yield "n_characters", str(content["char_cnn"]["n_characters"])


def parameter_fact(arrays):
    """Returns a fact about a model's arrays, a dictionary: name and value."""
    number = sum(array.size for array in arrays.values())
    dtypes = ", ".join(sorted({str(a.dtype) for a in arrays.values()}))
    size = f"{number / 1e6:,.1f} million" if number >= 1e6 else f"{number:,}"
    return "parameters", f"{size} ({dtypes})"


def vocabulary_fact(words):
    """Returns a fact about a vocabulary's words (bytes): name and value."""
    fact = f"{len(words):,} words"
    distinct = set(words)
    missing = {BEGIN_SENTENCE, END_SENTENCE, UNKNOWN} - distinct
    if missing:
        fact += f", without {b', '.join(sorted(missing)).decode()}"
    if len(distinct) < len(words):
        fact += f", {len(words) - len(distinct):,} of them repeated"
    return "vocabulary", fact
