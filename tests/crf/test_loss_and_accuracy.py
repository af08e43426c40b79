import brute_force_crf as brute_force
import keras
import numpy as np
import pytest
from comparisons import assert_close
from comparisons import assert_equal
from keras import ops

from keras_elmo import CRF
from keras_elmo import CRFAccuracy
from keras_elmo import CRFLoss

MASK = [[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
CHAIN = brute_force.random_chain(MASK, 3)
BIO = ["O", "B-X", "I-X"]
RIGHT = np.array([[1, 0, 1, 1], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]], bool)
BEST = brute_force.best_tags(CHAIN)
TAGS = np.where(RIGHT, BEST, (BEST + 1) % 3)


def scores_of(chain=CHAIN, **kwargs):
    layer = CRF(len(chain.start), **kwargs)
    layer.build((None, None, len(chain.start)))
    layer.set_weights([chain.transitions, chain.start, chain.end])
    return layer(chain.potentials, mask=chain.mask)


def value(loss):
    return ops.convert_to_numpy(loss)


def test_one_loss_a_sentence():
    losses = value(CRFLoss(reduction="none")(CHAIN.tags, scores_of()))
    expected = -brute_force.log_likelihood(CHAIN)
    assert losses.shape == (4,) and losses[-1] == 0
    assert_close(losses, expected, atol=1e-5)
    mean = value(CRFLoss()(CHAIN.tags, scores_of()))
    assert_close(mean, expected.mean(), atol=0)
    weights = np.array([0.0, 2.0, 1.0, 5.0], "float32")
    weighted = CRFLoss()(CHAIN.tags, scores_of(), weights[:, None])
    assert_close(weighted, (weights * expected).sum() / 4, atol=0)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float32"])
@pytest.mark.parametrize("filler", [0, -1, 99])
def test_tags_of_any_dtype_and_anything_at_padding(dtype, filler):
    if filler < 0 and dtype == "uint8":
        filler = 255
    tags = np.where(CHAIN.mask, CHAIN.tags, filler).astype(dtype)
    assert_equal(
        CRFLoss()(tags, scores_of()), CRFLoss()(CHAIN.tags, scores_of())
    )


def test_config_round_trip():
    loss = CRFLoss(reduction="sum", name="tags")
    for made in (loss, CRFAccuracy(name="tags")):
        config = keras.saving.serialize_keras_object(made)
        assert config["registered_name"] == f"keras_elmo>{type(made).__name__}"
        copy = keras.saving.deserialize_keras_object(config)
        assert copy.name == "tags"
        assert getattr(copy, "reduction", "sum") == "sum"


def test_tags_out_of_range_are_named():
    tags = CHAIN.tags.copy()
    for bad in (-1, 3):
        tags[0, 1] = bad
        with pytest.raises(
            ValueError, match=rf"from 0 to 2. Received: \[{bad}\]"
        ):
            CRFLoss()(tags, scores_of())


def test_tags_that_break_the_scheme_are_named():
    scores = scores_of(tag_names=BIO, scheme="BIO")
    good = np.array([[0, 1, 2, 0], [1, 2, 0, 0], [0] * 4, [0] * 4])
    assert value(CRFLoss()(good, scores)) < 100
    for sentence in ([0, 2, 0, 0], [2, 0, 0, 0]):
        bad = good.copy()
        bad[0] = sentence
        with pytest.raises(
            ValueError, match="`scheme`, or its inputs are -inf"
        ) as error:
            CRFLoss()(bad, scores)
        assert str(error.value).endswith(f"at padding: tags {sentence}")
    bad = good.copy()
    bad[1] = 0, 2, 0, 0
    with pytest.raises(ValueError, match=r"tags \[0, 2, -1, -1\]$"):
        CRFLoss()(bad, scores)


@pytest.mark.parametrize("compiled", [False, True])
def test_nan_gives_its_sentence_a_nan_loss(compiled):
    loss = CRFLoss(reduction="none")
    if compiled:
        # TensorFlow's optimizer inverts comparisons, which is wrong for NaN.
        if keras.backend.backend() != "tensorflow":
            pytest.skip("It is about TensorFlow.")
        import tensorflow as tf

        loss = tf.function(loss)
    potentials = CHAIN.potentials.copy()
    potentials[0, 1, 2] = np.nan
    potentials[1, 3] = np.nan  # padding
    scores = scores_of(CHAIN._replace(potentials=potentials))
    losses = value(loss(CHAIN.tags, scores))
    expected = value(loss(CHAIN.tags, scores_of()))
    assert np.isnan(losses[0])
    assert_equal(losses[1:], expected[1:])


def test_tags_that_the_inputs_forbid_are_named():
    potentials = CHAIN.potentials.copy()
    potentials[0, 1, CHAIN.tags[0, 1]] = -np.inf
    scores = scores_of(CHAIN._replace(potentials=potentials))
    with pytest.raises(ValueError, match="its inputs are -inf"):
        CRFLoss()(CHAIN.tags, scores)


def test_bad_shapes_are_named():
    scores = scores_of()
    one_hot = np.eye(3)[CHAIN.tags]
    for tags in (one_hot, CHAIN.tags[..., None], CHAIN.tags[:, :3]):
        with pytest.raises(ValueError, match=r"not one-hot.*Received: shape"):
            CRFLoss()(tags, scores)
    with pytest.raises(ValueError, match="scores that a CRF layer returns"):
        CRFLoss()(CHAIN.tags, CHAIN.potentials)
    for shape in ((4,), (4, 4), (4, 1, 1)):
        with pytest.raises(ValueError, match=r"shape \(batch, 1\).*Received"):
            CRFLoss()(CHAIN.tags, scores, np.ones(shape))


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Only TensorFlow can tell."
)
def test_bad_tags_are_named_in_a_graph():
    import tensorflow as tf

    compiled = tf.function(CRFLoss())
    scores = scores_of(tag_names=BIO, scheme="BIO")
    for tag, message in ((3, "from 0 to 2"), (2, "`scheme`, or its inputs")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            compiled(np.full((4, 4), tag), scores)
    tags = np.zeros((4, 4), "int32")
    tags[1, 1] = 2
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[0 2 -1 -1\]"):
        compiled(tags, scores)
    none = tf.function(CRFLoss(reduction="none"))(tags[:0], scores[:0])
    assert none.shape == (0,)
    assert np.isfinite(compiled(np.zeros((4, 4), "int32"), scores))


@pytest.mark.skipif(
    keras.backend.backend() == "torch", reason="PyTorch runs eagerly."
)
def test_bad_tags_show_where_values_cannot_be_looked_at():
    if keras.backend.backend() == "jax":
        import jax

        compiled = jax.jit(CRFLoss(reduction="none"))
    else:
        import tensorflow as tf

        compiled = tf.function(CRFLoss(reduction="none"), jit_compile=True)
    scores = scores_of(tag_names=BIO, scheme="BIO")
    tags = np.zeros((4, 4), "int32")
    tags[0, 1], tags[1, 0] = 3, 2
    losses = value(compiled(tags, scores))
    assert np.isnan(losses[0]) and losses[1] > 1e29
    assert np.all(np.isfinite(losses[2:])) and np.all(losses[2:] < 100)


def accuracy_of(*args):
    metric = CRFAccuracy()
    metric.update_state(*args)
    return float(ops.convert_to_numpy(metric.result()))


def test_padding_does_not_count_in_the_accuracy():
    for filler in (0, -1):
        tags = np.where(CHAIN.mask, TAGS, filler)
        for dtype in ("int64", "float32"):
            found = accuracy_of(tags.astype(dtype), scores_of())
            assert found == pytest.approx(5 / 7, rel=1e-6)


@pytest.mark.parametrize("shape", [(4,), (4, 1), (4, 4)])
def test_weights_of_the_accuracy(shape):
    weights = np.random.default_rng(0).random(shape).astype("float32")
    each = weights.reshape(4, -1) * CHAIN.mask
    expected = (RIGHT * each).sum() / each.sum()
    found = accuracy_of(TAGS, scores_of(), weights)
    assert found == pytest.approx(expected, rel=1e-5)


def test_the_accuracy_runs_over_batches():
    metric = CRFAccuracy()
    whole = scores_of()
    for rows in (slice(0, 1), slice(1, 4)):
        metric.update_state(TAGS[rows], whole[rows])
    found = float(ops.convert_to_numpy(metric.result()))
    assert found == pytest.approx(5 / 7, rel=1e-6)
    metric.reset_state()
    metric.update_state(TAGS[3:], whole[3:])  # Only padding.
    assert float(ops.convert_to_numpy(metric.result())) == 0


def test_bad_shapes_for_the_accuracy_are_named():
    with pytest.raises(ValueError, match=r"not one-hot.*Received: shape"):
        accuracy_of(np.eye(3)[TAGS], scores_of())
    with pytest.raises(ValueError, match="scores that a CRF layer returns"):
        accuracy_of(TAGS, CHAIN.potentials)
