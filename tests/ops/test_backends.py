"""What the fast paths of TensorFlow leave out."""

import keras
import numpy as np
import pytest
from fast_paths import use_fast_paths
from keras import ops
from small_models import make_shallow_elmo

from keras_elmo import batch_to_ids
from keras_elmo.ops.backends import backend

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Only TensorFlow has it."
)


@pytest.fixture(params=[True, False], ids=["fast", "portable"])
def fast(request):
    use_fast_paths(request.param)
    yield request.param
    use_fast_paths(True)


def test_each_distinct_row_is_computed_once(fast):
    words = [["the", "cat", "the"], ["a", "cat", ""]]
    ids = ops.convert_to_tensor(batch_to_ids(words, 12).reshape(-1, 12))
    seen = []

    def first_ids(rows):
        seen.append(len(rows))
        return ops.cast(rows[:, :2], "float32")

    found = backend().distinct_rows(first_ids, ids)
    np.testing.assert_array_equal(found, ids[:, :2])
    assert seen == [4 if fast else 6]


@pytest.mark.parametrize(
    ("words", "length"), [(["a", "four"], 6), (["a-long-word"], 11)]
)
def test_the_end_that_rows_have_in_common_does_not_vary(fast, words, length):
    ids = ops.convert_to_tensor(batch_to_ids([words], 12)[0])
    # The bytes of the longest word, and its two marks.
    assert int(backend().varying_length(ids)) == (length if fast else 12)


def test_xla_takes_the_portable_code(fast):
    import tensorflow as tf

    ids = batch_to_ids([["the", "cat", "the"], ["a"]], 12)
    elmo = make_shallow_elmo()
    for function in (elmo, tf.function(elmo)):
        compiled = tf.function(function, jit_compile=True)
        np.testing.assert_allclose(compiled(ids), elmo(ids), atol=1e-5)
    assert backend().makes_graphs == fast
