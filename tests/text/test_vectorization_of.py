import keras
import numpy as np
import pytest

from keras_elmo import CharCNNEmbedding
from keras_elmo import WordVectorization
from keras_elmo import batch_to_ids
from keras_elmo.text.byte_indexer import ByteIndexer
from keras_elmo.text.word_vectorization import vectorization_of


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
    assert type(vectorization.indexer) is ByteIndexer
    found = vectorization.batch_to_ids([["a", "é" * 9], []])
    np.testing.assert_array_equal(
        found, batch_to_ids([["a", "é" * 9], []], width)
    )


@pytest.mark.parametrize("encoder", [OfNumbers(), keras.layers.Dense(3)])
def test_a_token_encoder_that_reads_no_words(encoder):
    with pytest.raises(ValueError, match=r"`make_vectorization`.*Received: "):
        vectorization_of(encoder)
