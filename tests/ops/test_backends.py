"""What the fast paths of TensorFlow leave out."""

import keras
import pytest
from comparisons import assert_close
from comparisons import assert_equal
from keras import ops
from small_models import make_shallow_elmo

from keras_elmo import batch_to_ids
from keras_elmo.ops.backends import backend

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Only TensorFlow has it."
)
WORDS = [["the", "cat", "the"], ["a", "cat", ""]]


def test_each_distinct_row_is_computed_once(path_taken):
    ids = ops.convert_to_tensor(batch_to_ids(WORDS, 12).reshape(-1, 12))
    seen = []

    def first_ids(rows):
        seen.append(len(rows))
        return ops.cast(rows[:, :2], "float32")

    assert_equal(backend().distinct_rows(first_ids, ids), ids[:, :2])
    assert seen == [4 if path_taken == "fast" else 6]


def test_the_end_that_rows_have_in_common_does_not_vary(path_taken):
    # The bytes of the longest word, and its two marks.
    for word, length in (("four", 6), ("a-long-word", 11)):
        ids = ops.convert_to_tensor(batch_to_ids([["a", word]], 12)[0])
        expected = length if path_taken == "fast" else 12
        assert int(backend().varying_length(ids)) == expected


def test_xla_takes_the_portable_code(path_taken):
    import tensorflow as tf

    ids = batch_to_ids(WORDS, 12)
    elmo = make_shallow_elmo()
    for function in (elmo, tf.function(elmo)):
        compiled = tf.function(function, jit_compile=True)
        assert_close(compiled(ids), elmo(ids), atol=1e-5)
    assert backend().makes_graphs == (path_taken == "fast")
