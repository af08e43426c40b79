import keras
import numpy as np
import pytest
from keras import ops
from small_models import randomize

from keras_elmo import CharCNNEmbedding
from keras_elmo import KnownWordEmbedding
from keras_elmo import TokenEmbedding
from keras_elmo import batch_to_ids

WORDS = ["the", "<S>", "cat"]


def make(words=WORDS, dim=6, **kwargs):
    return KnownWordEmbedding(
        TokenEmbedding(len(words), dim, (1, 1), words),
        CharCNNEmbedding(6, [(1, 4), (2, 8)], 1, 4, max_characters_per_token=9),
        **kwargs,
    )


@pytest.fixture
def layer():
    layer = make()
    layer.build((None, None, 10))
    randomize(layer)
    return layer


def numpy(x):
    return ops.convert_to_numpy(x)


def test_known_words_are_looked_up_and_others_are_read(layer, path_taken):
    sentence = ["the", "dog", "cat", "dog", "x" * 20, ""]
    ids = layer.make_vectorization().batch_to_ids([sentence])
    expected = numpy(layer.character_encoder(batch_to_ids([sentence], 9)))[0]
    expected = np.array(expected)
    rows = numpy(layer.known_words.embeddings)
    expected[0], expected[2] = rows[0], rows[2]
    np.testing.assert_allclose(numpy(layer(ids))[0], expected, atol=1e-6)
    # What stands beside a number does not matter.
    ids[0, 0, 1:] = 5
    np.testing.assert_allclose(numpy(layer(ids))[0], expected, atol=1e-6)


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
    assert seen == [2]  # "dog", and what stands for known words.


def test_boundaries_are_looked_up_where_they_are_known(layer):
    start, end = layer.boundary_ids
    assert start.tolist() == [2, *[0] * 9]
    assert end.tolist() == [0, *batch_to_ids([["</S>"]], 9)[0, 0]]


def test_without_a_vocabulary_boundaries_are_read(layer):
    other = KnownWordEmbedding(TokenEmbedding(3, 6), layer.character_encoder)
    expected = batch_to_ids([["<S>", "</S>"]], 9)[0]
    np.testing.assert_array_equal(other.boundary_ids[:, 1:], expected)
    assert other.boundary_ids[:, 0].tolist() == [0, 0]


def test_padding_is_masked(layer):
    vectorization = layer.make_vectorization()
    ids = vectorization.batch_to_ids([["the", "dog"], ["dog"], []])
    expected = [[True, True], [True, False], [False, False]]
    assert numpy(layer.compute_mask(ids)).tolist() == expected


def test_bad_arguments_and_ids():
    with pytest.raises(ValueError, match=r"one size. Received: sizes 5 and 6"):
        make(dim=5)
    layer = make()
    for ids, told in [
        (np.zeros((1, 2, 9), "int32"), "ids of shape"),
        (np.full((1, 2, 10), 300, "int32"), "0 to 261. Received"),
        (np.array([[4, *[0] * 9]], "int32"), "0 to 3. Received"),
    ]:
        with pytest.raises(ValueError, match=told):
            layer(ids)
    words = KnownWordEmbedding(TokenEmbedding(3, 6), layer.character_encoder)
    with pytest.raises(ValueError, match="pass it `vocabulary`"):
        words.make_vectorization()


def test_parts_may_be_frozen_one_by_one(layer):
    layer.known_words.trainable = False
    number = len(layer.trainable_weights)
    copy = KnownWordEmbedding.from_config(layer.get_config())
    copy.build((None, 10))
    assert len(copy.trainable_weights) == number == len(layer.weights) - 1
