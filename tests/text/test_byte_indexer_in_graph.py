import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.text.byte_indexer import ByteIndexer

WORDS = [
    *(b"", b"a", b"Cat", b"<S>", b"</S>", b"<s>", b" <S>", b"<S>\0"),
    *(b"\0", b"a\0", b"\0\0b", b"\0" * 60, b"\xff\xfe", b"\x80"),
    *(bytes(range(256)), bytes(range(255, -1, -1))),
    *("é".encode(), "日本語".encode() * 10, b"x" * 5000),
    *(b"y" * length for length in range(46, 52)),
    *(b"</S>" + b"z" * 50, b"<S>" * 17),
]


@pytest.mark.parametrize("width", [3, 4, 5, 8, 16, 50, 300])
def test_ids_are_those_of_python(width):
    expected = ByteIndexer(width).ids_of_words(WORDS)
    ids = ByteIndexer(width).ids_in_graph(tf.constant(WORDS))
    assert ids.dtype == tf.int32
    np.testing.assert_array_equal(ids, expected)


def test_no_words_have_no_ids():
    function = tf.function(
        ByteIndexer().ids_in_graph,
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    assert function(tf.zeros([0], tf.string)).shape == (0, 50)
    assert function(tf.constant([b"a"])).shape == (1, 50)
