import brute_force_crf as brute_force
import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo import CRF
from keras_elmo import CRFAccuracy

MASK = [[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
CHAIN = brute_force.random_chain(MASK, 3)
RIGHT = np.array([[1, 0, 1, 1], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]], bool)
BEST = brute_force.best_tags(CHAIN)
TAGS = np.where(RIGHT, BEST, (BEST + 1) % 3)


def scores():
    layer = CRF(3)
    layer.build((None, None, 3))
    layer.set_weights([CHAIN.transitions, CHAIN.start, CHAIN.end])
    return layer(CHAIN.potentials, mask=CHAIN.mask)


def accuracy_of(*args):
    metric = CRFAccuracy()
    metric.update_state(*args)
    return float(ops.convert_to_numpy(metric.result()))


def test_padding_does_not_count():
    for filler in (0, -1):
        tags = np.where(CHAIN.mask, TAGS, filler)
        for dtype in ("int64", "float32"):
            found = accuracy_of(tags.astype(dtype), scores())
            assert found == pytest.approx(5 / 7, rel=1e-6)


@pytest.mark.parametrize("shape", [(4,), (4, 1), (4, 4)])
def test_weights(shape):
    weights = np.random.default_rng(0).random(shape).astype("float32")
    each = weights.reshape(4, -1) * CHAIN.mask
    expected = (RIGHT * each).sum() / each.sum()
    found = accuracy_of(TAGS, scores(), weights)
    assert found == pytest.approx(expected, rel=1e-5)


def test_it_runs_over_batches():
    metric = CRFAccuracy()
    whole = scores()
    for rows in (slice(0, 1), slice(1, 4)):
        metric.update_state(TAGS[rows], whole[rows])
    found = float(ops.convert_to_numpy(metric.result()))
    assert found == pytest.approx(5 / 7, rel=1e-6)
    metric.reset_state()
    metric.update_state(TAGS[3:], whole[3:])  # Only padding.
    assert float(ops.convert_to_numpy(metric.result())) == 0


def test_config_round_trip():
    config = keras.saving.serialize_keras_object(CRFAccuracy(name="right"))
    assert config["registered_name"] == "keras_elmo>CRFAccuracy"
    assert keras.saving.deserialize_keras_object(config).name == "right"


def test_bad_shapes_are_named():
    with pytest.raises(ValueError, match=r"not one-hot.*Received: shape"):
        accuracy_of(np.eye(3)[TAGS], scores())
    with pytest.raises(ValueError, match="scores that a CRF layer returns"):
        accuracy_of(TAGS, CHAIN.potentials)
