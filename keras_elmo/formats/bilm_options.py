"""The options file of a biLM: converts its JSON to layer arguments and back."""

from typing import NamedTuple

from keras_elmo.checks import MOST_CHARACTERS
from keras_elmo.checks import MOST_LAYERS
from keras_elmo.formats.bilm_names import WORD_INPUT_IS_REFUSED
from keras_elmo.formats.checked_options import CheckedOptions


class LanguageModelOptions(NamedTuple):
    """The content of a language model's options file."""

    token_encoder: dict
    """Arguments of `CharCNNEmbedding`."""
    encoder: dict
    """Arguments of `BiLMEncoder`."""
    vocabulary_size: int | None
    num_negatives: int
    dropout: float


def parse_language_model_options(options, label=None):
    """Converts the content of an options file to a language model's arguments.

    Args:
        options: Dictionary, as parsed from the JSON.
        label: The file's name in messages, if there is a file.

    Returns:
        A `LanguageModelOptions`.

    Raises:
        ValueError: If an option is invalid. The message has the key, what the
            value must be, and what was received. Also if the model has word
            input, that is, no `char_cnn`.
    """
    top = CheckedOptions(options, label)
    encoder = parse_encoder(top.section("lstm"))
    if "char_cnn" not in top.values:
        raise top.error(
            "The options lack the key 'char_cnn'. " + WORD_INPUT_IS_REFUSED
        )
    if not top.flag("bidirectional", default=True):
        top.fail(
            "bidirectional", "true: the model must be bidirectional", False
        )
    return LanguageModelOptions(
        _parse_char_cnn(top, encoder["projection_dim"]),
        encoder,
        top.integer("n_tokens_vocab", 1, default=None),
        top.integer("n_negative_samples_batch", 1, default=8192),
        top.fraction("dropout", default=0.1),
    )


def make_options(token_encoder, encoder, training=None):
    """Converts layer configs to an options dictionary.

    Args:
        token_encoder: Config of a `CharCNNEmbedding`.
        encoder: Config of a `BiLMEncoder`.
        training: Dictionary of bilm-tf's options for training, such as
            `n_tokens_vocab`, or `None`. Entries with value `None` are left out.

    Returns:
        Dictionary in the format of bilm-tf and AllenNLP.
    """
    max_characters = token_encoder["max_characters_per_token"]
    options = {
        "lstm": {
            "use_skip_connections": encoder["use_skip_connections"],
            "projection_dim": encoder["projection_dim"] or encoder["units"],
            "cell_clip": encoder["cell_clip"],
            "proj_clip": encoder["proj_clip"],
            "dim": encoder["units"],
            "n_layers": encoder["num_layers"],
        },
        "char_cnn": {
            "activation": token_encoder["activation"],
            "filters": token_encoder["filters"],
            "n_highway": token_encoder["num_highways"],
            "embedding": {"dim": token_encoder["embedding_dim"]},
            "n_characters": 262,
            "max_characters_per_token": max_characters,
        },
    }
    training = {k: v for k, v in (training or {}).items() if v is not None}
    if training:
        options |= {"bidirectional": True, **training}
    return options


def parse_encoder(lstm):
    """Returns the arguments of a `BiLMEncoder` in a section of options."""
    return {
        "units": lstm.integer("dim", 1),
        "projection_dim": lstm.integer("projection_dim", 1),
        "num_layers": lstm.integer("n_layers", 1, 1, MOST_LAYERS),
        "cell_clip": lstm.limit("cell_clip"),
        "proj_clip": lstm.limit("proj_clip"),
        "use_skip_connections": lstm.flag("use_skip_connections"),
    }


def _parse_char_cnn(top, projection_dim):
    char_cnn = top.section("char_cnn")
    # bilm-tf writes 261 for training and 262 for prediction, with the same 261
    # rows of weights.
    char_cnn.one_of("n_characters", (261, 262))
    return {
        **parse_character_cnn(char_cnn),
        "projection_dim": projection_dim,
        "embedding_dim": char_cnn.section("embedding").integer("dim", 1),
    }


def parse_character_cnn(section):
    """Returns those arguments of a `CharCNNEmbedding` that formats name alike.

    Args:
        section: `CheckedOptions`.
    """
    max_characters = section.integer(
        "max_characters_per_token", 3, high=MOST_CHARACTERS
    )
    return {
        "filters": section.filters("filters", max_characters),
        "num_highways": section.integer("n_highway", 0, 0, MOST_LAYERS),
        "activation": section.one_of("activation", ("relu", "tanh")),
        "max_characters_per_token": max_characters,
    }
