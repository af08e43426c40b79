import keras
import numpy as np
import pytest
from comparisons import assert_close
from comparisons import assert_equal
from small_models import make_shallow_elmo

from keras_elmo import SentencePooling
from keras_elmo import batch_to_ids

modes = pytest.mark.parametrize("mode", ["mean", "max"])


@modes
@pytest.mark.parametrize("leading", [(4,), (2, 2), (1, 2, 2)])
def test_equals_numpy_at_any_rank(mode, leading):
    x = np.random.default_rng(0).normal(size=(4, 5, 3)).astype("float32")
    mask = np.arange(5) < np.array([5, 0, 2, 1])[:, None]
    mask[2] = [False, True, False, True, False]
    expected = np.zeros((4, 3))
    for row in (0, 2, 3):
        expected[row] = getattr(x[row, mask[row]], mode)(axis=0)
    x[~mask] = np.nan  # Masked words have no effect.
    x, mask = x.reshape(*leading, 5, 3), mask.reshape(*leading, 5)
    pooled = SentencePooling(mode)(x, mask=mask)
    assert_close(pooled, expected.reshape(*leading, 3), atol=1e-6)
    if len(leading) > 1:  # Sentences without words are masked.
        assert_equal(pooled._keras_mask, mask.any(axis=-1))
    for shape in ((2, 0, 3), (0, 2, 3)):
        pooled = SentencePooling(mode)(np.ones(shape, "float32"))
        assert_equal(pooled, np.zeros((shape[0], 3)))


# Keras' `GlobalAveragePooling1D` makes the loss and all weights NaN here.
@modes
def test_an_empty_text_in_a_batch(mode):
    ids = keras.Input((None, 12), dtype="int32")
    pooled = SentencePooling(mode)(make_shallow_elmo()(ids))
    model = keras.Model(ids, keras.layers.Dense(2)(pooled))
    x = batch_to_ids([["A", "good", "film"], ["Dull", "."], [], ["So"]], 12)
    before = model.predict(x, verbose=0)
    model.compile("sgd", "mse")
    loss = model.train_on_batch(x, np.ones((4, 2)))
    # The empty text counts, with the bias alone.
    assert_close(loss, np.mean((before - 1) ** 2), rtol=1e-5)
    assert_equal(before[2], [0, 0])
    assert all(np.isfinite(w).all() for w in model.get_weights())
    assert model.get_weights()[-1].all()  # The bias was trained.


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match=r"`mode` must be one of .* 'sum'"):
        SentencePooling("sum")
    with pytest.raises(ValueError, match=r"must have the shape \(2, 3\)"):
        SentencePooling()(np.ones((2, 3, 4)), mask=np.ones((3, 2), bool))
