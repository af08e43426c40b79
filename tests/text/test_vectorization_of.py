import keras
import numpy as np
import pytest

from keras_elmo import CharacterVectorization
from keras_elmo import CharCNNEmbedding
from keras_elmo import TokenEmbedding
from keras_elmo import batch_to_ids
from keras_elmo.text import vectorization_of

WORDS = ["", "a", "<S>", "</S>", "é" * 9, "x" * 80, b"\xff", b"a\0"]


class Custom(keras.layers.Layer):
    token_shape = (7,)


class OfNumbers(keras.layers.Layer):
    token_shape = ()


@pytest.mark.parametrize(
    ("encoder", "width"),
    [(CharCNNEmbedding(max_characters_per_token=9), 9), (Custom(), 7)],
)
def test_token_encoders_of_characters(encoder, width):
    vectorization = vectorization_of(encoder)
    assert type(vectorization) is CharacterVectorization
    assert vectorization.token_shape == (width,)
    expected = batch_to_ids([WORDS, []], width)
    found = vectorization.batch_to_ids([WORDS, []])
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == "int32"
    np.testing.assert_array_equal(
        vectorization.ids_of_words(vectorization.boundary_words),
        CharCNNEmbedding(max_characters_per_token=width).boundary_ids,
    )
    assert vectorization.num_ids == 262
    assert np.all(expected[0, :, 0] == vectorization.begin_id)


def test_a_shortened_word_has_the_same_ids():
    for width in (3, 4, 5, 12):
        layer = CharacterVectorization(width)
        words = [w.encode() if isinstance(w, str) else w for w in WORDS]
        words += [b"<S>.", b"</S>.", b"</S"]
        shortened = [layer.shortened(word) for word in words]
        assert max(map(len, shortened)) <= max(width, 5)
        np.testing.assert_array_equal(
            layer.ids_of_words(shortened), layer.ids_of_words(words)
        )


def test_cropped_words_are_those_of_find_cropped_words():
    found = CharacterVectorization(5).find_cropped_words([["é", "éa", "éab"]])
    assert found == [(0, 2, "éab")]


def test_a_token_encoder_that_reads_no_words():
    with pytest.raises(ValueError, match=r"must say how they become its ids"):
        vectorization_of(OfNumbers())
    with pytest.raises(ValueError, match="pass it `vocabulary`"):
        vectorization_of(TokenEmbedding(9, 6))
    with pytest.raises(ValueError, match=r"`make_vectorization`.*Received: "):
        vectorization_of(keras.layers.Dense(3))
