import brute_force_crf as brute_force
import keras
import numpy as np
import pytest
from comparisons import assert_close
from comparisons import assert_equal
from conftest import ON_TENSORFLOW
from crf.crf_layers import BIO
from crf.crf_layers import MASK
from crf.crf_layers import scores_of
from keras.ops import convert_to_numpy as as_numpy

from keras_elmo import CRFAccuracy
from keras_elmo import CRFLoss

CHAIN = brute_force.random_chain(MASK, 3)
RIGHT = np.array([[1, 0, 1, 1], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]], bool)
BEST = brute_force.best_tags(CHAIN)
TAGS = np.where(RIGHT, BEST, (BEST + 1) % 3)


@pytest.fixture
def bio_scores():
    return scores_of(CHAIN, tag_names=BIO, scheme="BIO")


def test_one_loss_a_sentence():
    losses = as_numpy(CRFLoss(reduction="none")(CHAIN.tags, scores_of(CHAIN)))
    expected = -brute_force.log_likelihood(CHAIN)
    assert losses.shape == (4,) and losses[-1] == 0
    assert_close(losses, expected, atol=1e-5)
    mean = CRFLoss()(CHAIN.tags, scores_of(CHAIN))
    assert_close(mean, expected.mean(), atol=0)
    weights = np.array([0.0, 2.0, 1.0, 5.0], "float32")
    weighted = CRFLoss()(CHAIN.tags, scores_of(CHAIN), weights[:, None])
    assert_close(weighted, (weights * expected).sum() / 4, atol=0)


def test_names_are_those_given():
    names = [kind(name="tags").name for kind in (CRFLoss, CRFAccuracy)]
    assert names == ["tags", "tags"]


@pytest.mark.parametrize(
    ("dtype", "filler"), [("uint8", 255), ("int64", 99), ("float32", -1)]
)
def test_tags_of_any_dtype_and_anything_at_padding(dtype, filler):
    scores = scores_of(CHAIN)
    tags = np.where(CHAIN.mask, CHAIN.tags, filler).astype(dtype)
    assert_equal(CRFLoss()(tags, scores), CRFLoss()(CHAIN.tags, scores))
    tags = np.where(CHAIN.mask, TAGS, filler).astype(dtype)
    assert accuracy_of(tags, scores) == pytest.approx(5 / 7, rel=1e-6)


@pytest.mark.parametrize(
    ("row", "sentence", "message"),
    [
        (0, [0, -1, 0, 0], r"from 0 to 2. Received: \[-1\]$"),
        (0, [0, 3, 0, 0], r"from 0 to 2. Received: \[3\]$"),
        (1, [0, 2, 0, 0], r"`scheme`, or its .*: tags \[0, 2, -1, -1\]$"),
    ],
)
def test_bad_tags_are_named(bio_scores, row, sentence, message):
    tags = np.array([[0, 1, 2, 0], [1, 2, 0, 0], [0] * 4, [0] * 4])
    assert as_numpy(CRFLoss()(tags, bio_scores)) < 100
    tags[row] = sentence
    with pytest.raises(ValueError, match=message):
        CRFLoss()(tags, bio_scores)


# TensorFlow's optimizer inverts comparisons, which is wrong for NaN.
@pytest.mark.parametrize(
    "compiled", [False, pytest.param(True, marks=ON_TENSORFLOW)]
)
def test_nan_gives_its_sentence_a_nan_loss(compiled):
    loss = CRFLoss(reduction="none")
    if compiled:
        import tensorflow as tf

        loss = tf.function(loss)
    potentials = CHAIN.potentials.copy()
    potentials[0, 1, 2] = np.nan
    potentials[1, 3] = np.nan  # padding
    scores = scores_of(CHAIN._replace(potentials=potentials))
    losses = as_numpy(loss(CHAIN.tags, scores))
    expected = as_numpy(loss(CHAIN.tags, scores_of(CHAIN)))
    assert np.isnan(losses[0])
    assert_equal(losses[1:], expected[1:])


def test_bad_shapes_are_named():
    scores = scores_of(CHAIN)
    one_hot = np.eye(3)[CHAIN.tags]
    for function in (CRFLoss(), accuracy_of):
        for tags in (one_hot, CHAIN.tags[:, :3]):
            with pytest.raises(ValueError, match=r"not one-hot.*: shape"):
                function(tags, scores)
        with pytest.raises(ValueError, match="scores that a CRF layer returns"):
            function(CHAIN.tags, CHAIN.potentials)
    for shape in ((4,), (4, 4)):
        with pytest.raises(ValueError, match=r"shape \(batch, 1\).*Received"):
            CRFLoss()(CHAIN.tags, scores, np.ones(shape))


@ON_TENSORFLOW
def test_bad_tags_are_named_in_a_graph(bio_scores):
    import tensorflow as tf

    compiled = tf.function(CRFLoss())
    good = np.zeros((4, 4), "int32")
    bad = good.copy()
    bad[1, 1] = 2
    told = r"(?s)`scheme`, or its inputs.*\[0 2 -1 -1\]"
    for tags, message in ((good + 3, "from 0 to 2"), (bad, told)):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            compiled(tags, bio_scores)
    none = tf.function(CRFLoss(reduction="none"))(good[:0], bio_scores[:0])
    assert none.shape == (0,)
    assert np.isfinite(compiled(good, bio_scores))


@pytest.mark.skipif(
    keras.backend.backend() == "torch", reason="PyTorch runs eagerly."
)
def test_bad_tags_show_where_values_cannot_be_looked_at(bio_scores):
    if keras.backend.backend() == "jax":
        import jax

        compiled = jax.jit(CRFLoss(reduction="none"))
    else:
        import tensorflow as tf

        compiled = tf.function(CRFLoss(reduction="none"), jit_compile=True)
    tags = np.zeros((4, 4), "int32")
    tags[0, 1], tags[1, 0] = 3, 2
    losses = as_numpy(compiled(tags, bio_scores))
    assert np.isnan(losses[0]) and losses[1] > 1e29
    assert np.all(np.isfinite(losses[2:])) and np.all(losses[2:] < 100)


def accuracy_of(*args):
    metric = CRFAccuracy()
    metric.update_state(*args)
    return float(as_numpy(metric.result()))


@pytest.mark.parametrize("shape", [(4,), (4, 1), (4, 4)])
def test_weights_of_the_accuracy(shape):
    weights = np.random.default_rng(0).random(shape).astype("float32")
    each = weights.reshape(4, -1) * CHAIN.mask
    expected = (RIGHT * each).sum() / each.sum()
    found = accuracy_of(TAGS, scores_of(CHAIN), weights)
    assert found == pytest.approx(expected, rel=1e-5)


def test_the_accuracy_runs_over_batches():
    metric, whole = CRFAccuracy(), scores_of(CHAIN)
    for rows in (slice(0, 1), slice(1, 4)):
        metric.update_state(TAGS[rows], whole[rows])
    found = float(as_numpy(metric.result()))
    assert found == pytest.approx(5 / 7, rel=1e-6)
    metric.reset_state()
    metric.update_state(TAGS[3:], whole[3:])  # Only padding.
    assert float(as_numpy(metric.result())) == 0
