"""Words as the ids of listed characters and words."""

import numpy as np
import pytest
import tensorflow as tf
from text.listed_characters import CHARACTERS
from text.listed_characters import ODD_WORDS
from text.listed_characters import SPECIAL
from text.listed_characters import WORDS

from keras_elmo import WordVectorization
from keras_elmo.text import word_table
from keras_elmo.text.character_indexer import CharacterIndexer
from keras_elmo.text.word_table import WordTable

AS_BYTES = [w.encode() if isinstance(w, str) else w for w in ODD_WORDS]
BOS, EOS, OOV, PAD, BOW, EOW = range(1, 7)


def random_words(number):
    """Returns words of bytes that occur in UTF-8, valid and invalid."""
    generator = np.random.default_rng(0)
    parts = [c.encode() for c in "abé今天x\0\N{GRINNING FACE}"]
    others = b"\x80\xbf\xc3\xe4\xbb\x8a\xed\xa0\xf0\x9f\xff"
    parts += [bytes([byte]) for byte in others]
    return [
        b"".join(parts[i] for i in generator.integers(0, len(parts), size))
        for size in generator.integers(0, 12, number)
    ]


@pytest.mark.parametrize("words", [None, WORDS])
@pytest.mark.parametrize("width", [3, 9, 50])
def test_the_graph_makes_the_ids_of_python(width, words):
    layer = WordVectorization(CharacterIndexer(CHARACTERS, words, width))
    sentences = [AS_BYTES, [], random_words(500)]
    expected = layer.batch_to_ids(sentences)
    assert expected.dtype == "int32"
    assert expected.shape == (3, 500, width + (words is not None))
    for call in (layer, tf.function(layer)):
        found = call(tf.ragged.constant(sentences))
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("width", [3, 9])
def test_a_cropped_word_has_the_same_ids(width):
    indexer = CharacterIndexer(CHARACTERS, WORDS, width)
    words = AS_BYTES + random_words(500)
    cropped = [indexer.crop(word) for word in words]
    assert max(map(len, cropped)) <= 4 * width
    ids = indexer.ids_of_words(words)
    np.testing.assert_array_equal(indexer.ids_of_words(cropped), ids)


def test_cropped_words_are_counted_in_code_points():
    layer = WordVectorization(CharacterIndexer(CHARACTERS, None, 5))
    sentences = [["今天今", "abab"], ["<bos>", "今天今天"]]
    found = layer.find_cropped_words(sentences)
    assert found == [(0, 1, "abab"), (1, 1, "今天今天")]


def test_ids_by_hand():
    indexer = CharacterIndexer(CHARACTERS, None, 6)
    words = ["éa", "今天ab今", "x", "", "<bos>", "<eos>"]
    ids = indexer.ids_of_words([*map(str.encode, words), b"a\xff\xfeb"])
    # The marks of a word are swapped; the second word is cropped after b.
    assert ids.tolist() == [
        [EOW, 9, 7, BOW, PAD, PAD],
        [EOW, 10, 11, 7, 8, BOW],
        [EOW, OOV, BOW, PAD, PAD, PAD],
        [EOW, BOW, PAD, PAD, PAD, PAD],
        [EOW, BOS, BOW, PAD, PAD, PAD],
        [EOW, EOS, BOW, PAD, PAD, PAD],
        [EOW, 7, OOV, OOV, 8, BOW],
    ]
    # Words are looked up as they are cropped.
    words = [b"abababababab", b"abab", b"<bos>", b"", b"b", b"a\0"]
    ids = CharacterIndexer(CHARACTERS, WORDS, 10).ids_of_words(words)
    assert ids.shape == (6, 11)
    assert ids[:, -1].tolist() == [7, 1, 2, 9, 1, 8]


@pytest.mark.parametrize(
    ("characters", "words", "shape", "num_ids"),
    [(CHARACTERS, None, (6,), 15), (SPECIAL, WORDS, (7,), 10)],
)
def test_shape_and_number_of_ids(characters, words, shape, num_ids):
    indexer = CharacterIndexer(characters, words, 6)
    assert indexer.token_shape == shape
    assert indexer.num_ids == num_ids
    assert indexer.begin_id == EOW
    config = indexer.get_config()
    assert CharacterIndexer.from_config(config).get_config() == config


@pytest.mark.parametrize(
    ("characters", "words", "message"),
    [
        ([*SPECIAL, "a", "a"], None, "`characters` must not contain dup.*'a'"),
        (SPECIAL[1:], None, "`characters` .* from the 5 entries: <bos>"),
        ([*SPECIAL, 7], None, "`characters` must be strings. Received: 7"),
        (SPECIAL, ["a"], "`words` must contain <oov>"),
    ],
)
def test_lists_that_cannot_be(characters, words, message):
    with pytest.raises(ValueError, match=message):
        CharacterIndexer(characters, words, 6)
    with pytest.raises(ValueError, match="`max_characters_per_token`"):
        CharacterIndexer(SPECIAL, None, 2)


def test_many_words_in_a_graph():
    words = [f"word{i}" for i in range(5000)]
    table = WordTable(words)
    for look_up in (table.ids_in_graph, tf.function(table.ids_in_graph)):
        ids = look_up(tf.constant([*words[::-1], "none", "wor", ""]))
        assert ids.numpy().tolist() == [*range(5000, 0, -1), 0, 0, 0]
    assert table.ids[b"word7"] == 8 and b"none" not in table.ids


def test_words_of_one_hash_value_in_a_graph(monkeypatch):
    """No other word is mistaken for one of the list."""

    def lengths(words):
        return tf.cast(tf.strings.length(words), tf.int64)

    monkeypatch.setattr(word_table, "_hash_values", lengths)
    words = tf.constant(["b", "aa", "", "a", "ab", "ddd"])
    found = WordTable(["b", "aa", ""]).ids_in_graph(words)
    assert found.numpy().tolist() == [1, 2, 3, 0, 0, 0]
    with pytest.raises(ValueError, match="same 64-bit hash value"):
        WordTable(["b", "a"]).ids_in_graph(words)
