import keras
import numpy as np
import pytest
from backend_gradients import input_gradient
from backend_gradients import weight_gradients
from comparisons import assert_close
from keras import ops
from keras.ops import convert_to_numpy as numpy
from pretraining.small_language_models import oracle_losses

from keras_elmo.layers.base_layers import leave_out_random_values
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


def test_losses():
    softmax = make()
    expected = oracle_losses(LOGITS, TARGETS)
    for dtype in ("int32", "int64"):
        assert_close(softmax.losses(X, TARGETS.astype(dtype)), expected)
    losses = softmax.losses(X[None], TARGETS[None])
    assert_close(losses, expected[None])


@pytest.mark.parametrize("scale", [1e3, -1e8])
@pytest.mark.parametrize("full", [True, False])
def test_large_logits(scale, full):
    softmax = make(WORDS)
    softmax.kernel.assign(KERNEL * scale)
    (sampled,) = softmax.sampled_losses([X], [TARGETS], 0)
    losses = softmax.losses(X, TARGETS) if full else sampled
    assert np.all(numpy(losses) >= 0)
    logits = X.astype("float64") @ (KERNEL * scale).T.astype("float64") + BIAS
    expected = oracle_losses(logits, TARGETS)
    assert_close(losses, expected, rtol=1e-4, atol=abs(scale) / 1e6)


@pytest.mark.parametrize(
    "num_negatives, dtype",
    [(1, "int32"), (8, "int64"), (37, "int32"), (WORDS + 1, "int32")],
)
def test_sampled_losses(num_negatives, dtype):
    softmax, targets = make(num_negatives), TARGETS.astype(dtype)
    for seed in range(4):
        expected = oracle_sampled(LOGITS, TARGETS, *drawn(num_negatives, seed))
        parts = [slice(5), slice(5, None)]
        inputs, words = [X[i] for i in parts], [targets[i] for i in parts]
        for got, part in zip(
            softmax.sampled_losses(inputs, words, seed), parts, strict=True
        ):
            assert_close(got, expected[part])


class TrainingLoss(keras.layers.Layer):
    """A layer that outputs the sum of the sampled losses of a softmax."""

    def __init__(self, softmax):
        super().__init__()
        self.softmax = softmax

    def call(self, x):
        targets = ops.convert_to_tensor(TARGETS)
        return ops.sum(self.softmax.sampled_losses([x], [targets], 1)[0])


def test_gradients():
    layer = TrainingLoss(make())
    layer(X)
    _, found = weight_gradients(layer, lambda x: x, X)
    rows = np.arange(ROWS)
    drawn_words, expected = drawn(8, 1)
    assert np.any(np.isin(TARGETS, drawn_words))
    logits = LOGITS[:, drawn_words] - np.log(expected)
    logits = np.where(drawn_words == TARGETS[:, None], -np.inf, logits)
    # The target comes first.
    logits = np.column_stack([LOGITS[rows, TARGETS], logits])
    words = np.column_stack([TARGETS, np.tile(drawn_words, (ROWS, 1))])
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    p[:, 0] -= 1
    kernel, bias = np.zeros((WORDS, DIM)), np.zeros(WORDS)
    np.add.at(kernel, words, p[..., None] * X[:, None])
    np.add.at(bias, words, p)
    x = np.einsum("nc,ncd->nd", p, KERNEL[words])
    for gradient, value in (
        (found[layer.softmax.kernel.path], kernel),
        (found[layer.softmax.bias.path], bias),
        (input_gradient(layer, X), x),
    ):
        assert_close(gradient, value, rtol=1e-4, atol=1e-5)


def test_half_precision():
    softmax = make(dtype="mixed_bfloat16")
    assert softmax.kernel.dtype == softmax.bias.dtype == "float32"
    targets = [ops.convert_to_tensor(TARGETS)]
    (got,) = softmax.sampled_losses([ops.cast(X, "bfloat16")], targets, 1)
    assert keras.backend.standardize_dtype(got.dtype) == "float32"
    (expected,) = make().sampled_losses([X], targets, 1)
    assert_close(got, expected, atol=0.06)


def test_initial_values(monkeypatch):
    softmax = VocabularySoftmax(2000, 8)
    softmax.build((None, 64))
    assert np.std(numpy(softmax.kernel)) == pytest.approx(1 / 8, rel=0.02)
    assert np.mean(numpy(softmax.kernel)) == pytest.approx(0, abs=1e-3)
    assert not np.any(numpy(softmax.bias))
    # None are drawn if told so.
    monkeypatch.delattr(keras.initializers.RandomNormal, "__call__")
    with leave_out_random_values():
        VocabularySoftmax(2000, 8).build((None, 64))


@pytest.mark.parametrize("name", ["vocabulary_size", "num_negatives"])
def test_sizes_must_be_positive_integers(name):
    arguments = {"vocabulary_size": 5, "num_negatives": 2, name: 0}
    with pytest.raises(ValueError, match=f"`{name}` must be an integer"):
        VocabularySoftmax(**arguments)
