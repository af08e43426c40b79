import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.text import graph_tokens


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_lengths_that_can_be(dtype):
    tokens = tf.constant([["a", "b"]] * 3)
    given = tf.constant([0, 1, 2], dtype)
    lengths = graph_tokens.check_lengths(given, tokens)
    assert lengths.dtype == tf.int32
    np.testing.assert_array_equal(lengths, [0, 1, 2])
