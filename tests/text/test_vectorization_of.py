import keras
import numpy as np
import pytest

from keras_elmo import CharCNNEmbedding
from keras_elmo import WordVectorization
from keras_elmo import batch_to_ids
from keras_elmo.text.byte_indexer import ByteIndexer
from keras_elmo.text.word_vectorization import vectorization_of

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
    assert type(vectorization) is WordVectorization
    indexer = vectorization.indexer
    assert type(indexer) is ByteIndexer
    assert indexer.token_shape == (width,)
    expected = batch_to_ids([WORDS, []], width)
    found = vectorization.batch_to_ids([WORDS, []])
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == "int32"
    assert indexer.num_ids == 262
    assert np.all(expected[0, :, 0] == indexer.begin_id)


@pytest.mark.parametrize("encoder", [OfNumbers(), keras.layers.Dense(3)])
def test_a_token_encoder_that_reads_no_words(encoder):
    with pytest.raises(ValueError, match=r"`make_vectorization`.*Received: "):
        vectorization_of(encoder)
