import json

import keras
import numpy as np
import pytest

from keras_elmo import CharacterVectorization
from keras_elmo import KnownWordVectorization
from keras_elmo import TokenVectorization

# Bytes that are no UTF-8, and a word that is there twice: the last one counts.
WORDS = ["<S>", "the", "</S>", b"\xff", "日本", "the", "", "<UNK>"]
SENTENCES = [["the", b"\xff"], [], ["日本", "", "</S>"]]
IDS = np.array([[6, 4, 0], [0, 0, 0], [5, 7, 3]], "int32")
on_tensorflow = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="Strings are TensorFlow's.",
)


def make(**kwargs):
    return TokenVectorization(WORDS, (1, 3), **kwargs)


def in_graph(layer, sentences, eager):
    import tensorflow as tf

    time = max(map(len, sentences))
    tokens = tf.constant([s + [""] * (time - len(s)) for s in sentences])
    lengths = tf.constant([len(s) for s in sentences])
    function = layer if eager else tf.function(layer)
    return function(tokens, sequence_len=lengths).numpy()


def copies(layer):
    yield layer
    serialized = keras.saving.serialize_keras_object(layer)
    serialized = json.loads(json.dumps(serialized))
    yield keras.saving.deserialize_keras_object(serialized)


def test_words_become_their_numbers():
    for layer in copies(make()):
        ids = layer.batch_to_ids(SENTENCES)
        assert ids.dtype == "int32"
        np.testing.assert_array_equal(ids, IDS)
        assert layer.token_shape == () and layer.num_ids == 9
        assert layer.boundary_words == (b"<S>", b"</S>")
        assert layer.find_cropped_words([["x" * 1000]]) == []
        assert layer.batch_to_ids([]).shape == (0, 0)


@on_tensorflow
@pytest.mark.parametrize("eager", [True, False])
def test_in_a_graph_likewise(eager):
    for layer in copies(make()):
        found = in_graph(layer, SENTENCES, eager)
        np.testing.assert_array_equal(found, IDS)
    assert layer(["the  日本", ""]).numpy().tolist() == [[6, 5], [0, 0]]


@on_tensorflow
def test_many_words_in_a_graph():
    words = [f"word{i}" for i in range(5000)]
    layer = TokenVectorization(words, unknown_token=7)
    ids = layer([[*words[::-1], "none", "wor"]]).numpy()[0]
    assert ids.tolist() == [*range(5000, 0, -1), 7, 7]


def test_unknown_words_have_the_number_that_is_theirs():
    for layer in copies(make(unknown_token=8)):
        ids = layer.batch_to_ids([["cat", "the", "<UNK>"]])
        assert ids.tolist() == [[8, 6, 8]]
        if keras.backend.backend() == "tensorflow":
            found = in_graph(layer, [["cat", "the", "<UNK>"]], False)
            assert found.tolist() == ids.tolist()


def test_unknown_words_are_an_error_without():
    with pytest.raises(ValueError, match=r"vocabulary's 8: .*Received: 'cat'"):
        make().batch_to_ids([["the", "cat"]])


@on_tensorflow
@pytest.mark.parametrize("eager", [True, False])
def test_unknown_words_are_an_error_in_a_graph_too(eager):
    import tensorflow as tf

    with pytest.raises(tf.errors.InvalidArgumentError, match="cat"):
        in_graph(make(), [["the", "cat"]], eager)
    # Padding is no word.
    in_graph(make(), [["the"], ["the", "the"]], eager)


def known_ids(layer, sentence, width):
    """What is expected: a number, or characters."""
    numbers = {w: i for i, w in enumerate(WORDS, start=1)}
    rows = []
    for word in sentence:
        number = numbers.get(word, 0)
        characters = CharacterVectorization(width).batch_to_ids([[word]])[0, 0]
        rows.append([number, *(characters * (not number))])
    return rows


@pytest.mark.parametrize("width", [5, 12])
def test_unknown_words_are_spelt(width):
    sentence = ["the", "cat", b"\xff", "a-long-word", "<S>", "", "é"]
    for layer in copies(KnownWordVectorization(WORDS, width)):
        expected = known_ids(layer, sentence, width)
        ids = layer.batch_to_ids([sentence, ["cat"]])
        assert ids[0].tolist() == expected
        assert ids[1].tolist() == [expected[1], *[[0] * (width + 1)] * 6]
        assert layer.token_shape == (width + 1,)
        assert layer.num_ids == 262
        if keras.backend.backend() == "tensorflow":
            for eager in (True, False):
                found = in_graph(layer, [sentence, ["cat"]], eager)
                np.testing.assert_array_equal(found, ids)


def test_known_words_are_not_cropped():
    layer = KnownWordVectorization(["x" * 20, "<S>"], 12)
    assert layer.find_cropped_words([["x" * 20, "y" * 11, "y" * 10]]) == [
        (0, 1, "y" * 11)
    ]


@pytest.mark.parametrize("words", ["the", b"the", [], ["the", 3]])
def test_what_is_no_vocabulary(words):
    for make in (TokenVectorization, KnownWordVectorization):
        with pytest.raises(ValueError, match=r"`vocabulary` must .*Received"):
            make(words)
