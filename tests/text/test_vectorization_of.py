import keras
import pytest

from keras_elmo import CharCNNEmbedding
from keras_elmo import WordVectorization
from keras_elmo.text.byte_indexer import ByteIndexer
from keras_elmo.text.word_vectorization import vectorization_of


class Custom(keras.layers.Layer):
    token_shape = (7,)


@pytest.mark.parametrize(
    ("encoder", "width"),
    [(CharCNNEmbedding(max_characters_per_token=9), 9), (Custom(), 7)],
)
def test_token_encoders_of_characters(encoder, width):
    vectorization = vectorization_of(encoder)
    assert type(vectorization) is WordVectorization
    assert type(vectorization.indexer) is ByteIndexer
    assert vectorization.indexer.token_shape == (width,)


def test_a_token_encoder_that_reads_no_words():
    of_numbers = Custom()
    of_numbers.token_shape = ()
    for encoder in (of_numbers, keras.layers.Dense(3)):
        with pytest.raises(ValueError, match="`make_vectorization`.*Received"):
            vectorization_of(encoder)
