"""What the fast paths of TensorFlow leave out."""

import keras
import numpy as np
import pytest
from fast_paths import use_fast_paths
from keras import ops

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
