import keras
import numpy as np
import pytest
from backend_gradients import input_gradient
from backend_gradients import weight_gradients
from keras import ops
from keras.ops import convert_to_numpy as numpy
from keras.random import SeedGenerator
from pretraining.small_language_models import oracle_losses

from keras_elmo.ops.backends import leave_out_random_values
from keras_elmo.pretraining.vocabulary_softmax import LogUniformCandidates
from keras_elmo.pretraining.vocabulary_softmax import VocabularySoftmax

WORDS, DIM, ROWS = 50, 6, 7
generator = np.random.default_rng(0)
X = generator.normal(size=(ROWS, DIM)).astype("float32")
TARGETS = np.array([0, 1, 5, 5, 20, 48, 49], "int32")
KERNEL = generator.normal(size=(WORDS, DIM)).astype("float32")
BIAS = generator.normal(size=WORDS).astype("float32")
LOGITS = X.astype("float64") @ KERNEL.T.astype("float64") + BIAS


def make(num_negatives=8, **kwargs):
    softmax = VocabularySoftmax(WORDS, num_negatives, **kwargs)
    softmax.build((None, DIM))
    softmax.kernel.assign(KERNEL)
    softmax.bias.assign(BIAS)
    return softmax


def sampled(softmax, seed, targets=TARGETS, x=X):
    return numpy(*softmax.sampled_losses([x], [targets], seed))


def drawn(num_negatives, seed):
    """Returns the candidates of a softmax, and their expected counts."""
    candidates = LogUniformCandidates(WORDS, num_negatives)
    words = numpy(candidates.draw(seed)[0])
    return words, candidates.expected_counts[words]


def oracle_sampled(logits, targets, words, expected):
    losses = []
    for row, target in zip(logits, targets):
        terms = [np.exp(row[target])]
        for word, count in zip(words, expected):
            if word != target:
                terms.append(np.exp(row[word]) / count)
        losses.append(np.log(np.sum(terms)) - row[target])
    return np.array(losses)


def test_logits():
    logits = make()(X)
    assert keras.backend.standardize_dtype(logits.dtype) == "float32"
    np.testing.assert_allclose(numpy(logits), LOGITS, rtol=1e-5, atol=1e-5)
    # Inputs may have any rank.
    again = make()(X.reshape(1, ROWS, DIM))
    np.testing.assert_allclose(numpy(again)[0], numpy(logits), rtol=1e-6)


def test_losses():
    softmax = make()
    expected = oracle_losses(LOGITS, TARGETS)
    for dtype in ("int32", "int64"):
        losses = softmax.losses(X, TARGETS.astype(dtype))
        np.testing.assert_allclose(numpy(losses), expected, rtol=1e-5)
    losses = numpy(softmax.losses(X[None], TARGETS[None]))
    assert losses.shape == (1, ROWS)
    np.testing.assert_allclose(losses[0], expected, rtol=1e-5)


def test_losses_of_words_that_count_as_one():
    is_unknown = np.zeros(WORDS, "bool")
    is_unknown[[2, 5, 6, 49]] = True
    losses = numpy(make().losses(X, TARGETS, is_unknown=is_unknown))
    probabilities = np.exp(LOGITS)
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    for loss, row, target in zip(losses, probabilities, TARGETS):
        right = row[is_unknown].sum() if is_unknown[target] else row[target]
        assert loss == pytest.approx(-np.log(right), rel=1e-5)


@pytest.mark.parametrize("scale", [1e3, 1e8, -1e8])
@pytest.mark.parametrize("full", [True, False])
def test_large_logits(scale, full):
    softmax = make(WORDS)
    softmax.kernel.assign(KERNEL * scale)
    losses = softmax.losses(X, TARGETS) if full else sampled(softmax, 0)
    losses = numpy(losses)
    assert np.all(np.isfinite(losses)) and np.all(losses >= 0)
    logits = X.astype("float64") @ (KERNEL * scale).T.astype("float64") + BIAS
    np.testing.assert_allclose(
        losses, oracle_losses(logits, TARGETS), rtol=1e-4, atol=abs(scale) / 1e6
    )


def test_a_certain_target_has_no_loss():
    softmax = make(WORDS)
    softmax.bias.assign(1e4 * (np.arange(WORDS) == 5))
    targets = np.full(ROWS, 5, "int32")
    assert not np.any(numpy(softmax.losses(X, targets)))
    assert not np.any(sampled(softmax, 0, targets))


@pytest.mark.parametrize("num_negatives", [WORDS, WORDS + 1, 8192])
def test_all_words_as_candidates_give_the_exact_losses(num_negatives):
    softmax = make(num_negatives)
    np.testing.assert_allclose(
        sampled(softmax, 3), numpy(softmax.losses(X, TARGETS)), rtol=1e-6
    )


@pytest.mark.parametrize(
    "num_negatives, dtype", [(1, "int32"), (8, "int64"), (37, "int32")]
)
def test_sampled_losses(num_negatives, dtype):
    softmax = make(num_negatives)
    for seed in range(4):
        np.testing.assert_allclose(
            sampled(softmax, seed, TARGETS.astype(dtype)),
            oracle_sampled(LOGITS, TARGETS, *drawn(num_negatives, seed)),
            rtol=1e-5,
        )


def test_expectation_of_the_sum_is_the_full_sum():
    number = 250
    softmax = make(8)
    true = LOGITS[np.arange(ROWS), TARGETS]
    sums = np.array(
        [
            np.exp(sampled(softmax, seed).astype("float64") + true)
            for seed in range(number)
        ]
    )  # (number, rows)
    error = sums.std(axis=0) / np.sqrt(number)
    full = np.exp(LOGITS).sum(axis=-1)
    assert np.all(np.abs(sums.mean(axis=0) - full) < 4 * error)
    assert np.all(error < 0.2 * full)


class TrainingLoss(keras.layers.Layer):
    """A layer that outputs the sum of the losses of a softmax."""

    def __init__(self, softmax, seed):
        super().__init__()
        self.softmax = softmax
        self.candidates_seed = seed

    def call(self, x):
        targets = ops.convert_to_tensor(TARGETS)
        if self.candidates_seed is None:
            return ops.sum(self.softmax.losses(x, targets))
        (losses,) = self.softmax.sampled_losses(
            [x], [targets], self.candidates_seed
        )
        return ops.sum(losses)


def softmax_gradients(probabilities, words):
    """Returns the gradients of the losses for the kernel and the bias."""
    kernel, bias = np.zeros((WORDS, DIM)), np.zeros(WORDS)
    for x, row, places in zip(X, probabilities, words):
        for p, word in zip(row, places):
            kernel[word] += p * x
            bias[word] += p
    return {"kernel": kernel, "bias": bias}


@pytest.mark.parametrize("seed", [None, 1], ids=["full", "sampled"])
def test_gradients(seed):
    softmax = make()
    layer = TrainingLoss(softmax, seed)
    layer(X)
    loss, found = weight_gradients(layer, lambda x: x, X)
    if seed is None:
        words = np.tile(np.arange(WORDS), (ROWS, 1))
        logits = LOGITS
        assert loss == pytest.approx(oracle_losses(LOGITS, TARGETS).sum())
    else:
        drawn_words, expected = drawn(8, seed)
        assert np.any(np.isin(TARGETS, drawn_words))
        words = np.tile(drawn_words, (ROWS, 1))
        logits = LOGITS[:, drawn_words] - np.log(expected)
        logits = np.where(drawn_words == TARGETS[:, None], -np.inf, logits)
        words = np.concatenate([TARGETS[:, None], words], axis=1)
        true = LOGITS[np.arange(ROWS), TARGETS][:, None]
        logits = np.concatenate([true, logits], axis=1)
    exp = np.exp(logits)
    p = exp / exp.sum(axis=1, keepdims=True)
    if seed is None:
        p[np.arange(ROWS), TARGETS] -= 1
    else:
        p[:, 0] -= 1
    expected = softmax_gradients(p, words)
    assert len(found) == 2
    for path, gradient in found.items():
        np.testing.assert_allclose(
            gradient, expected[path.split("/")[-1]], rtol=1e-4, atol=1e-5
        )
    if seed is None:
        expected_x = p @ KERNEL
    else:
        expected_x = np.einsum("nc,ncd->nd", p, KERNEL[words])
    found_x = input_gradient(layer, X)
    np.testing.assert_allclose(found_x, expected_x, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_half_precision(policy):
    softmax = make(dtype=policy)
    x = ops.cast(X, softmax.compute_dtype)
    targets = ops.convert_to_tensor(TARGETS)
    assert softmax.kernel.dtype == softmax.bias.dtype == "float32"
    expected = make()
    for got, exact in (
        (softmax(x), expected(X)),
        (softmax.losses(x, targets), expected.losses(X, targets)),
        (
            *softmax.sampled_losses([x], [targets], 1),
            *expected.sampled_losses([X], [targets], 1),
        ),
    ):
        assert keras.backend.standardize_dtype(got.dtype) == "float32"
        np.testing.assert_allclose(numpy(got), numpy(exact), atol=0.06)
    symbolic = softmax(keras.Input((DIM,)))
    assert symbolic.shape == (None, WORDS) and symbolic.dtype == "float32"


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="Elsewhere Keras multiplies in float32.",
)
def test_double_precision():
    softmax = make(dtype="float64")
    x = X.astype("float64")
    np.testing.assert_allclose(numpy(softmax(x)), LOGITS, rtol=1e-12)
    np.testing.assert_allclose(
        numpy(softmax.losses(x, TARGETS)),
        oracle_losses(LOGITS, TARGETS),
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        sampled(softmax, 1, x=x),
        oracle_sampled(LOGITS, TARGETS, *drawn(8, 1)),
        rtol=1e-6,  # The logarithms of the counts are float32.
    )


def test_initial_values(monkeypatch):
    softmax = VocabularySoftmax(2000, 8)
    softmax.build((None, 64))
    assert np.std(numpy(softmax.kernel)) == pytest.approx(1 / 8, rel=0.02)
    assert np.mean(numpy(softmax.kernel)) == pytest.approx(0, abs=1e-3)
    assert not np.any(numpy(softmax.bias))

    def no_values(*_, **__):
        raise AssertionError("Values were drawn.")

    monkeypatch.setattr(keras.initializers.RandomNormal, "__call__", no_values)
    with leave_out_random_values():
        softmax = VocabularySoftmax(2000, 8)
        softmax.build((None, 64))
    assert softmax.kernel.shape == (2000, 64)
    with pytest.raises(AssertionError, match="Values were drawn"):
        VocabularySoftmax(2000, 8).build((None, 64))


@pytest.mark.parametrize("name", ["vocabulary_size", "num_negatives"])
@pytest.mark.parametrize("value", [0, -1, 2.5, None, True])
def test_sizes_must_be_positive_integers(name, value):
    arguments = {"vocabulary_size": 5, "num_negatives": 2, name: value}
    with pytest.raises(ValueError, match=f"`{name}` must be an integer"):
        VocabularySoftmax(**arguments)


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Of TensorFlow's graphs."
)
@pytest.mark.in_graphs(True)
def test_in_a_graph_of_unknown_size():
    import tensorflow as tf

    softmax, seed = make(), SeedGenerator(3)

    @tf.function(
        input_signature=[
            tf.TensorSpec((None, DIM)),
            tf.TensorSpec((None,), tf.int32),
        ]
    )
    def in_graph(x, targets):
        return (
            softmax.losses(x, targets),
            *softmax.sampled_losses([x], [targets], seed),
        )

    again = SeedGenerator(3)
    for _ in range(2):
        full, estimates = in_graph(X, TARGETS)
        np.testing.assert_allclose(
            full, oracle_losses(LOGITS, TARGETS), rtol=1e-5
        )
        np.testing.assert_allclose(
            estimates, sampled(softmax, again), rtol=1e-6
        )


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Of sparse gradients."
)
def test_a_sparse_gradient_has_each_row_once():
    import tensorflow as tf

    softmax = make()
    variables = [v.value for v in softmax.trainable_variables]
    with tf.GradientTape() as tape:
        # Both have targets and candidates in common.
        losses = softmax.sampled_losses([X, 2 * X], [TARGETS, TARGETS], 1)
    for gradient in tape.gradient(losses, variables):
        rows = gradient.indices.numpy().tolist()
        assert sorted({*rows}) == sorted(rows)
        assert {*TARGETS} <= {*rows}
