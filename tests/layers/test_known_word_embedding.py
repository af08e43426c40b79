import keras
import numpy as np
import pytest
from keras import ops
from keras.ops import convert_to_numpy as numpy
from small_models import randomize

from keras_elmo import CharCNNEmbedding
from keras_elmo import TokenEmbedding
from keras_elmo import batch_to_ids
from keras_elmo.layers import known_word_embedding
from keras_elmo.layers.known_word_embedding import KnownWordEmbedding
from keras_elmo.ops.hashed_table import hash_rows
from keras_elmo.ops.hashed_table import hash_rows_of_array

pytestmark = pytest.mark.in_graphs(False)

WORDS = ["the", "<S>", "cat"]


def make(words=WORDS, dim=6, **kwargs):
    return KnownWordEmbedding(
        TokenEmbedding(len(words), dim, words),
        CharCNNEmbedding(6, [(1, 4), (2, 8)], 1, 4, max_characters_per_token=9),
        **kwargs,
    )


@pytest.fixture
def layer():
    layer = make()
    layer.build((None, None, 9))
    randomize(layer.known_words)
    randomize(layer.character_encoder)
    return layer


def check(layer, sentence, words=WORDS):
    """Checks that known words use their rows, and others their characters."""
    ids = layer.make_vectorization().batch_to_ids([sentence])
    np.testing.assert_array_equal(ids, batch_to_ids([sentence], 9))
    found = numpy(layer(ids))[0]
    expected = np.array(numpy(layer.character_encoder(ids))[0])
    rows = numpy(layer.known_words.embeddings)
    places = {word[:7]: i for i, word in enumerate(words)}
    for i, word in enumerate(sentence):
        if word[:7] in places:
            expected[i] = rows[places[word[:7]]]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_known_words_are_looked_up_and_others_are_read(layer, path_taken):
    check(layer, ["the", "dog", "cat", "dog", "x" * 20, "", "<S>", "</S>"])


def test_of_words_with_the_same_ids_the_last_counts():
    words = ["the", "averylongword", "cat", "averylongone", "the"]
    layer = make(words)
    check(layer, ["averylongish", "the", "averylon", "averylo", "a"], words)


def test_words_of_one_hash_value(monkeypatch):
    """They are found, and no other word is mistaken for one of them."""

    def few(rows):
        return rows[:, 1] % 3

    monkeypatch.setattr(known_word_embedding, "hash_rows", few)
    monkeypatch.setattr(known_word_embedding, "hash_rows_of_array", few)
    words = [f"{a}{b}" for a in "abcdefg" for b in "uvwxyz"]
    layer = make([*words[::-1], "au"])
    check(layer, [*words, "ab", "A", "<S>", "", "zz"], [*words[::-1], "au"])


def test_hash_values_are_those_of_every_backend():
    ids = batch_to_ids([["the", "cat", "sat", "", "é" * 9]])[0]
    values = hash_rows_of_array(ids)
    assert values.dtype == "int32" and len(set(values.tolist())) == 5
    found = numpy(hash_rows(ops.convert_to_tensor(ids)))
    assert found.dtype == "int32"
    np.testing.assert_array_equal(found, values)
    # By definition, in integers of arbitrary size.
    powers = [pow(0x9E3779B1, i, 2**32) for i in range(1, 51)]
    expected = [sum(map(int.__mul__, row, powers)) for row in ids.tolist()]
    assert [int(v) % 2**32 for v in values] == [x % 2**32 for x in expected]


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="TensorFlow's fast path."
)
def test_characters_are_read_once_for_each_unknown_word(layer, monkeypatch):
    seen = []
    encode = layer.character_encoder.encode

    def watch(rows, training):
        seen.append(rows.shape[0])
        return encode(rows, training)

    sentence = ["the", "dog", "cat", "dog", "the", "<S>"]
    ids = layer.make_vectorization().batch_to_ids([sentence])
    monkeypatch.setattr(layer.character_encoder, "encode", watch)
    layer(ids)
    assert seen == [2]  # "dog", and the placeholder for known words.


def test_boundaries_are_those_of_the_characters(layer):
    expected = batch_to_ids([["<S>", "</S>"]], 9)[0]
    np.testing.assert_array_equal(layer.boundary_ids, expected)


def test_padding_is_masked(layer):
    vectorization = layer.make_vectorization()
    ids = vectorization.batch_to_ids([["the", "dog"], ["dog"], []])
    expected = [[True, True], [True, False], [False, False]]
    assert numpy(layer.compute_mask(ids)).tolist() == expected


def test_bad_arguments_and_ids():
    with pytest.raises(ValueError, match=r"same size. Received: sizes 5 and 6"):
        make(dim=5)
    layer = make()
    for ids, told in [
        (np.zeros((1, 2, 10), "int32"), "ids of shape"),
        (np.full((1, 2, 9), 300, "int32"), "0 to 261. Received"),
    ]:
        with pytest.raises(ValueError, match=told):
            layer(ids)
    with pytest.raises(ValueError, match="`known_words` must have a `vocab"):
        KnownWordEmbedding(TokenEmbedding(3, 6), layer.character_encoder)


def test_a_copy_knows_its_words(layer):
    copy = KnownWordEmbedding.from_config(layer.get_config())
    copy.build((None, 9))
    for a, b in zip(copy.weights, layer.weights, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
    copy.set_weights(layer.get_weights())
    check(copy, ["the", "dog", "cat"])


def test_parts_may_be_frozen_one_by_one(layer):
    layer.known_words.trainable = False
    number = len(layer.trainable_weights)
    copy = KnownWordEmbedding.from_config(layer.get_config())
    copy.build((None, 9))
    # The table of known words is never trained.
    assert len(copy.trainable_weights) == number == len(layer.weights) - 4
