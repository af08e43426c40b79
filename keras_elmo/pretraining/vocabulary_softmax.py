import keras
import numpy as np
from keras import ops
from keras import random

from keras_elmo.checks import check_integer
from keras_elmo.layers.base_layers import new_weight
from keras_elmo.layers.base_layers import read_weight
from keras_elmo.ops.backends import backend
from keras_elmo.ops.backends import wide_dtype

_MINUS_INFINITY = -1e9


class VocabularySoftmax(keras.layers.Layer):
    """The softmax over a vocabulary, and its losses.

    ```
    logits = x @ kernel^T + bias
    loss = log(sum_w exp(logits_w)) - logits_target
    ```

    In training, the sum is over the target and some candidates. Each
    candidate's term is divided by how often it is drawn on average, so that the
    sum has the full sum as its expectation.

    Args:
        vocabulary_size: Integer, the number of words.
        num_negatives: Integer, the number of candidates.
        **kwargs: Base layer keyword arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Tensor of shape `(..., dim)`.

    Output shape:
        `(..., vocabulary_size)`, logits in float32, even in half precision.
    """

    def __init__(self, vocabulary_size, num_negatives=8192, **kwargs):
        super().__init__(**kwargs)
        check_integer("vocabulary_size", vocabulary_size, 1)
        check_integer("num_negatives", num_negatives, 1)
        self.vocabulary_size = vocabulary_size
        self.num_negatives = num_negatives
        self._candidates = None

    def build(self, input_shape):
        # Rows are words, as in biLM files, so the fan-in is a row's length.
        normal = keras.initializers.RandomNormal(stddev=input_shape[-1] ** -0.5)
        shape = (self.vocabulary_size, input_shape[-1])
        self.kernel = new_weight(self, "kernel", shape, normal)
        self.bias = new_weight(self, "bias", shape[:1])

    def call(self, inputs):
        kernel = read_weight(self.kernel, self.compute_dtype)
        logits = ops.matmul(inputs, ops.transpose(kernel))
        bias = read_weight(self.bias, wide_dtype(self.compute_dtype))
        return self._widen(logits) + bias

    def losses(self, inputs, targets, is_unknown=None):
        """Computes the exact cross entropies, in nats.

        Args:
            inputs: Tensor `(..., dim)`.
            targets: Integer tensor `(...)`, the right words.
            is_unknown: Boolean array `(vocabulary_size,)`, true for the words
                that count as one, with the sum of their probabilities.

        Returns:
            float32 tensor `(...)`.
        """
        logits = self.call(inputs)
        if is_unknown is None:
            return ops.sparse_categorical_crossentropy(
                targets, logits, from_logits=True
            )
        merged = ops.where(is_unknown, logits, _MINUS_INFINITY)
        merged = ops.logsumexp(merged, axis=-1)  # (...)
        alone = ops.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
        right = ops.where(ops.take(is_unknown, targets), merged, alone)
        return ops.logsumexp(logits, axis=-1) - right

    def sampled_losses(self, inputs, targets, seed):
        """Estimates the cross entropies, from words drawn at random.

        Args:
            inputs: List of tensors `(n, dim)`. Each has candidates of its own,
                unless `seed` is an integer.
            targets: List of integer tensors `(n,)`, the right words.
            seed: Integer or `keras.random.SeedGenerator`.

        Returns:
            List of float32 tensors `(n,)`.
        """
        if self._candidates is None:
            self._candidates = LogUniformCandidates(
                self.vocabulary_size, self.num_negatives
            )
        targets = [ops.cast(words, "int32") for words in targets]
        drawn = [self._candidates.draw(seed) for _ in targets]
        rows = [
            x for words, (others, _) in zip(targets, drawn)
            for x in (words, others)
        ]  # fmt: skip
        # Together, so that a sparse gradient can have each row once.
        rows = ops.concatenate(rows)
        kernel = self._cast(_rows_of(self.kernel, rows))
        bias = self._widen(_rows_of(self.bias, rows))
        losses, start = [], 0
        # Separately, so that they can run in parallel.
        for x, words, (others, log_expected) in zip(inputs, targets, drawn):
            middle = start + ops.shape(words)[0]
            end = middle + self._candidates.num_candidates
            x, kernels = self._cast(x), kernel[middle:end]
            true = ops.sum(self._widen(x * kernel[start:middle]), axis=-1)
            true = true + bias[start:middle]  # (n,)
            # (n, candidates)
            logits = self._widen(ops.matmul(x, ops.transpose(kernels)))
            logits = logits + (bias[middle:end] - self._widen(log_expected))
            # The target's term is already in the sum.
            is_target = words[:, None] == others[None]
            logits = ops.where(is_target, _MINUS_INFINITY, logits)
            losses.append(_log_sum(true, logits) - true)
            start = end
        return losses

    def _cast(self, values):
        return ops.cast(ops.convert_to_tensor(values), self.compute_dtype)

    def _widen(self, values):
        # Sums over a large vocabulary need full precision.
        return ops.cast(values, wide_dtype(self.compute_dtype))


def _rows_of(weight, rows):
    """Returns rows of a weight."""
    if backend().has_sparse_gradients and weight.trainable:
        from keras_elmo.pretraining.tensorflow_optimizers import rows_of

        return rows_of(weight.value, rows)
    return ops.take(read_weight(weight, weight.dtype), rows, axis=0)


def _log_sum(first, others):
    """`log(exp(first) + sum(exp(others)))` of `(n,)` and `(n, candidates)`."""
    # Not concatenated: the copy would cost more than the sum.
    largest = ops.maximum(first, ops.max(others, axis=-1))
    largest = ops.stop_gradient(largest)  # (n,)
    total = ops.sum(ops.exp(others - largest[:, None]), axis=-1)
    return ops.log(total + ops.exp(first - largest)) + largest


# Draws are integers below this, so that every probability is exact.
_RESOLUTION = 2**30


class LogUniformCandidates:
    """Draws words of a vocabulary, frequent words more often.

    In a vocabulary sorted by decreasing count, counts are roughly proportional
    to 1 / rank. A log-uniform sampler draws word `i` of `n` with probability
    `p_i = log((i + 2) / (i + 1)) / log(n + 1)`. Sampling distinct words in some
    number of tries gives word `i` the expected count `1 - (1 - p_i) ^ tries`.
    These expected counts, whose sum is the number of candidates, are laid end
    to end as intervals, and one point is drawn from each unit of length. So the
    expected counts are exact, a word whose expected count is 1 is always drawn,
    and few words are drawn twice.

    Args:
        vocabulary_size: Integer, the number of words.
        num_candidates: Integer, how many words to draw. If it exceeds the
            vocabulary, each word is drawn once.
    """

    def __init__(self, vocabulary_size, num_candidates):
        self.num_candidates = min(num_candidates, vocabulary_size)
        expected = _expected_counts(vocabulary_size, self.num_candidates)
        self._unit = _RESOLUTION // self.num_candidates
        ends = np.rint(np.cumsum(expected) * self._unit).astype("int64")
        ends[-1] = self.num_candidates * self._unit
        self._ends = ends.astype("int32")  # (words,)
        lengths = np.diff(ends, prepend=0)
        self.expected_counts = lengths / self._unit
        """float64 array `(words,)`: how often each is drawn on average."""
        with np.errstate(divide="ignore"):  # Words that are never drawn.
            self._log_expected = np.log(self.expected_counts).astype("float32")

    def draw(self, seed):
        """Draws candidates.

        Args:
            seed: Integer or `keras.random.SeedGenerator`.

        Returns:
            The words, int32 `(num_candidates,)`, and the logarithms of their
            expected counts, float32 `(num_candidates,)`.
        """
        starts = ops.arange(self.num_candidates, dtype="int32") * self._unit
        shape = (self.num_candidates,)
        steps = random.uniform(shape, dtype="float32", seed=seed)
        steps = ops.cast(steps * self._unit, "int32")
        points = starts + ops.minimum(steps, self._unit - 1)
        words = ops.searchsorted(self._ends, points, side="right")
        words = ops.cast(words, "int32")
        return words, ops.take(self._log_expected, words)


def _expected_counts(vocabulary_size, num_candidates):
    """Returns `1 - (1 - p) ^ tries`, whose sum is `num_candidates`."""
    if num_candidates == vocabulary_size:
        return np.ones(vocabulary_size)
    rank = np.arange(1, vocabulary_size + 1)
    log_miss = np.log1p(-np.log1p(1 / rank) / np.log(vocabulary_size + 1))

    def counts(tries):
        return -np.expm1(tries * log_miss)

    low, high = 0.0, float(num_candidates)
    while counts(high).sum() < num_candidates:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        if counts(middle).sum() < num_candidates:
            low = middle
        else:
            high = middle
    return counts(high)
