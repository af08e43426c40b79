import json

import keras
import numpy as np
import pytest

from keras_elmo import WordVectorization
from keras_elmo.text import VocabularySpelling
from keras_elmo.text import vocabulary_spelling

# Bytes that are not UTF-8, and a repeated word, of which the last one counts.
WORDS = ["<S>", "the", "</S>", b"\xff", "日本", "the", "", "<UNK>"]
SENTENCES = [["the", b"\xff"], [], ["日本", "", "</S>"]]
IDS = np.array([[6, 4, 0], [0, 0, 0], [5, 7, 3]], "int32")
on_tensorflow = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="Strings are TensorFlow's.",
)


def make(**kwargs):
    return WordVectorization(VocabularySpelling(WORDS, **kwargs))


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
        assert layer.spelling.token_shape == ()
        assert layer.spelling.num_ids == 9
        assert layer.spelling.boundary_ids.tolist() == [1, 3]
        assert layer.find_cropped_words([["x" * 1000]]) == []
        assert layer.batch_to_ids([]).shape == (0, 0)


@on_tensorflow
@pytest.mark.parametrize("eager", [True, False])
def test_in_a_graph_likewise(eager):
    for layer in copies(make()):
        found = in_graph(layer, SENTENCES, eager)
        np.testing.assert_array_equal(found, IDS)
    assert layer([["the", "日本"], []]).numpy().tolist() == [[6, 5], [0, 0]]


@on_tensorflow
def test_many_words_in_a_graph():
    words = [f"word{i}" for i in range(5000)]
    layer = WordVectorization(VocabularySpelling(words, "word6"))
    ids = layer([[*words[::-1], "none", "wor"]]).numpy()[0]
    assert ids.tolist() == [*range(5000, 0, -1), 7, 7]


@on_tensorflow
def test_words_of_one_hash_value_in_a_graph(monkeypatch):
    """No other word is mistaken for one of the vocabulary."""
    import tensorflow as tf

    monkeypatch.setattr(
        vocabulary_spelling,
        "_hash_values",
        lambda words: tf.cast(tf.strings.length(words), tf.int64),
    )
    words = ["b", "aa", "", "aa"]
    layer = WordVectorization(VocabularySpelling(words, ""))
    found = layer([[*words, "a", "ab", "ddd"]])
    assert found.numpy().tolist() == [[1, 4, 3, 4, 3, 3, 3]]
    with pytest.raises(ValueError, match="same 64-bit hash value"):
        WordVectorization(VocabularySpelling(["b", "a"]))([["b"]])


def test_unknown_words_have_the_id_that_is_theirs():
    for layer in copies(make(unknown_word="<UNK>")):
        ids = layer.batch_to_ids([["cat", "the", "<UNK>"]])
        assert ids.tolist() == [[8, 6, 8]]
        if keras.backend.backend() == "tensorflow":
            found = in_graph(layer, [["cat", "the", "<UNK>"]], False)
            assert found.tolist() == ids.tolist()


def test_unknown_words_are_an_error_without():
    with pytest.raises(
        ValueError, match=r"one of the 8 words.*Received: 'cat'"
    ):
        make().batch_to_ids([["the", "cat"]])


@on_tensorflow
@pytest.mark.parametrize("eager", [True, False])
def test_unknown_words_are_an_error_in_a_graph_too(eager):
    import tensorflow as tf

    with pytest.raises(tf.errors.InvalidArgumentError, match="cat"):
        in_graph(make(), [["the", "cat"]], eager)
    # Padding is not a word.
    in_graph(make(), [["the"], ["the", "the"]], eager)


def test_a_vocabulary_without_boundaries():
    spelling = VocabularySpelling(["the", "<S>"])
    with pytest.raises(ValueError, match=r"must hold <S> and </S>.*: 2 words"):
        spelling.boundary_ids  # noqa: B018


@pytest.mark.parametrize("words", ["the", b"the", [], ["the", 3]])
def test_what_is_no_vocabulary(words):
    with pytest.raises(ValueError, match=r"`vocabulary` must .*Received"):
        VocabularySpelling(words)
