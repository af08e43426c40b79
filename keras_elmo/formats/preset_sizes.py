"""How many numbers the layers of a preset's config need."""

import math

from keras_elmo.formats.bilm_shapes import NUM_CHARACTERS
from keras_elmo.formats.bilm_shapes import character_cnn_shapes
from keras_elmo.formats.bilm_shapes import lstm_shapes
from keras_elmo.formats.option_section import MOST_CHARACTERS
from keras_elmo.formats.option_section import MOST_LAYERS
from keras_elmo.formats.option_section import OptionSection


def count_numbers(config):
    """Counts the numbers in the biLM of an `ElmoLayer`, made of a config.

    Args:
        config: The layer's config.

    Raises:
        ValueError: If a part is of another class than such a layer's, or a size
            is no integer, or far above that of any model.
    """
    top = OptionSection(config)
    # The mixes have few numbers, but there may be any number of mixes.
    top.integer("num_representations", 1, default=1, high=MOST_LAYERS)
    return _count_part(top, "token_encoder", _TOKEN_ENCODERS) + _count_part(
        top, "encoder", {"BiLMEncoder": _count_bilm_encoder}
    )


def _count_part(section, key, classes):
    part = section.section(key)
    name = part.one_of("class_name", tuple(classes))
    return classes[name](part.section("config"))


def _count_bilm_encoder(section):
    units = section.integer("units", 1)
    return _count(
        lstm_shapes(
            units,
            section.integer("projection_dim", 1, default=units),
            section.integer("num_layers", 1, high=MOST_LAYERS),
        )
    )


def _count_char_cnn_embedding(section):
    numbers, size = _count_character_cnn(section, NUM_CHARACTERS)
    dim = section.integer("projection_dim", 1, default=size)
    return numbers + ((size + 1) * dim if dim != size else 0)


def _count_lexicon_embedding(section):
    numbers, size = _count_character_cnn(section, section.count("characters"))
    words = section.count("words")
    if words:
        dim = section.integer("word_embedding_dim", 1)
        numbers += words * dim
        size += dim
    return numbers + (size + 1) * section.integer("projection_dim", 1)


def _count_token_embedding(section):
    dim = section.integer("projection_dim", 1)
    return section.integer("num_tokens", 1) * dim


def _count_known_word_embedding(section):
    numbers = _count_part(section, "known_words", _KNOWN_WORDS)
    numbers += _count_part(section, "character_encoder", _CHARACTER_ENCODERS)
    known = section.section("known_words").section("config")
    others = section.section("character_encoder").section("config")
    # The table has each known word's ids, their hash value, and its number.
    width = others.integer("max_characters_per_token", 3, high=MOST_CHARACTERS)
    return numbers + known.integer("num_tokens", 1) * (width + 2)


def _count_character_cnn(section, num_characters):
    """The numbers of a `CharacterCNN`, and the size of its vectors."""
    width = section.integer("max_characters_per_token", 3, high=MOST_CHARACTERS)
    filters = section.filters("filters", width)
    shapes = character_cnn_shapes(
        filters,
        section.integer("num_highways", 0, high=MOST_LAYERS),
        section.integer("embedding_dim", 1),
        num_characters,
    )
    return _count(shapes), sum(number for _, number in filters)


def _count(shapes):
    return sum(map(math.prod, shapes.values()))


_KNOWN_WORDS = {"TokenEmbedding": _count_token_embedding}
_CHARACTER_ENCODERS = {"CharCNNEmbedding": _count_char_cnn_embedding}
_TOKEN_ENCODERS = {
    **_KNOWN_WORDS,
    **_CHARACTER_ENCODERS,
    "LexiconEmbedding": _count_lexicon_embedding,
    "KnownWordEmbedding": _count_known_word_embedding,
}
