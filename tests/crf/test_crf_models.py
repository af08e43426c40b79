"""Models that end in a CRF, trained, saved and served as users do it."""

import subprocess
import sys

import keras
import numpy as np
import pytest
from comparisons import assert_equal
from conftest import ON_TENSORFLOW
from keras import ops
from peak_memory import DEFINE_PEAK
from peak_memory import ON_LINUX

from keras_elmo import CRF
from keras_elmo import CRFAccuracy
from keras_elmo import CRFDecoder
from keras_elmo import CRFLoss

pytestmark = pytest.mark.usefixtures("built_optimizers")


def make_data():
    """Words, of which the second is a span, and their tags."""
    lengths = np.arange(8)  # From all padding to none.
    mask = np.arange(7) < lengths[:, None]
    ids = np.random.default_rng(0).integers(1, 5, mask.shape) * mask
    return ids, np.where(mask, ids == 2, -1)


def make_tagger(**kwargs):
    inputs = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(5, 8, mask_zero=True)(inputs)
    crf = CRF(3, ["O", "B-X", "I-X"], "BIO", **kwargs)
    scores = crf(keras.layers.Dense(3)(x), mask=ops.not_equal(inputs, 0))
    return compile_tagger(keras.Model(inputs, scores))


def compile_tagger(model):
    adam, metrics = keras.optimizers.Adam(0.05), [CRFAccuracy()]
    model.compile(adam, CRFLoss(), metrics=metrics)
    return model


def decoder_of(model):
    return keras.Model(model.input, CRFDecoder()(model.output))


@pytest.mark.in_graphs(True)
@pytest.mark.parametrize("function", ["fit", "train_on_batch"])
def test_class_weight_is_refused_by_a_compiled_step_too(function):
    inputs = keras.Input((3, 4))
    model = keras.Model(inputs, CRF(3)(keras.layers.Dense(3)(inputs)))
    train = getattr(compile_tagger(model), function)
    x, y = np.ones((4, 3, 4), "float32"), np.ones((4, 3), "int32")
    train(x, y, sample_weight=np.ones((4, 1), "float32"))
    with pytest.raises(ValueError, match="`class_weight` cannot be used"):
        train(x, y, class_weight={0: 1.0, 1: 2.0})


DROPS_MASKS = pytest.mark.filterwarnings("ignore:Layer 'conv1d:UserWarning")
LOST = "'words' has one: a layer in between"


@DROPS_MASKS
@pytest.mark.parametrize("nested", [False, True])
def test_a_mask_that_is_lost_on_the_way_is_an_error(nested):
    inputs = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(5, 8, mask_zero=True, name="words")(inputs)
    x = keras.layers.Conv1D(3, 1)(x)  # drops it
    if nested:
        x = keras.Model(inputs, x)(inputs)
    with pytest.raises(ValueError, match=LOST):
        CRF(3)(x)
    assert CRF(3)(x, mask=ops.not_equal(inputs, 0)).shape == (None, None, 4, 3)


@DROPS_MASKS
@pytest.mark.parametrize("by_position", [False, True])
def test_a_mask_by_hand_that_is_lost_on_the_way_is_an_error(by_position):
    vectors, mask = keras.Input((None, 4)), keras.Input((None,), dtype="bool")
    lstm = keras.layers.LSTM(3, return_sequences=True, name="words")
    x = lstm(vectors, None, mask) if by_position else lstm(vectors, mask=mask)
    with pytest.raises(ValueError, match=LOST):
        CRF(3)(keras.layers.Conv1D(3, 1)(x))


@DROPS_MASKS
def test_masks_of_something_other_than_the_tokens_are_not_lost():
    letters, others = (
        keras.layers.Embedding(5, 8, mask_zero=True)(
            keras.Input(shape, dtype="int32")
        )
        for shape in ((7, 4), (6,))
    )
    own = keras.layers.Dense(8)(keras.Input((7, 8)))
    both = keras.layers.Attention()([own, others])
    for x in (ops.mean(letters, axis=2), both):
        assert CRF(3)(keras.layers.Conv1D(3, 1)(x)).shape == (None, 7, 4, 3)


def test_without_masks_there_is_none_to_lose():
    flags = keras.Input((None,), dtype="bool")
    both = ops.logical_or(flags, keras.Input((None,), dtype="bool"))
    x = keras.layers.Embedding(2, 8)(ops.cast(both, "int32"))
    for _ in range(30):  # A graph of 2 ** 30 ways.
        x = keras.layers.Add()([x, x])
    x = keras.Sequential([keras.layers.LSTM(3, return_sequences=True)])(x)
    assert CRF(3)(x).shape == (None, None, 4, 3)


def test_a_saved_model_comes_back_compiled(tmp_path):
    ids, tags = make_data()
    model = make_tagger(transitions_regularizer="l2")
    model.fit(ids, tags, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    kwargs = {"verbose": 0, "return_dict": True}
    found, expected = (m.evaluate(ids, tags, **kwargs) for m in (loaded, model))
    assert found == pytest.approx(expected, rel=1e-6)
    assert set(found) == {"loss", "crf_accuracy"}
    assert_equal(decoder_of(loaded)(ids), decoder_of(model)(ids))


TRAIN = """
import keras, keras_elmo
import numpy as np
x, y = np.ones((64, 900, 20), "float32"), np.ones((64, 900), "int32")
inputs = keras.Input((None, 20))
model = keras.Model(inputs, keras_elmo.CRF(20)(inputs))
model.compile("sgd", loss=keras_elmo.CRFLoss())
model.train_on_batch(x[:2], y[:2])
before = peak()
model.train_on_batch(x, y)
print((peak() - before) / (4 * 20 * 21 * y.size))
"""


@ON_LINUX
@ON_TENSORFLOW
@pytest.mark.parametrize("shape", [(2, 0), (0, 3)])
def test_a_graph_for_any_number_of_words_takes_none(shape):
    import tensorflow as tf

    model, names = make_tagger(), ["O", "B-X", "I-X"]
    decode = CRFDecoder(
        return_marginals=True, return_entities=True, tag_names=names
    )

    def everything(ids):
        scores = model(ids)
        return CRFLoss()(ids, scores), *decode(scores)

    ids = tf.TensorSpec((None, None), "int32")
    found = tf.function(everything, [ids])(np.zeros(shape, "int32"))
    shapes = [(), shape, (*shape, 3), shape, shape]
    assert [tuple(x.shape) for x in found] == shapes


@pytest.mark.exhaustive
def test_the_memory_that_a_training_step_takes():
    command = [sys.executable, "-c", DEFINE_PEAK + TRAIN]
    ratio = float(subprocess.check_output(command))
    # On TensorFlow it is 12 with AVX-512, and 7 on a processor with AVX2 only.
    assert 4 < ratio < (15 if keras.backend.backend() == "tensorflow" else 11)
