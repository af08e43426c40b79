import keras
import numpy as np
from keras import ops
from keras import random

from keras_elmo.checks import check_integer
from keras_elmo.layers.base_layers import read_weight
from keras_elmo.ops.backends import backend
from keras_elmo.ops.backends import for_large_matrix
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
        scale = input_shape[-1] ** -0.5
        normal = keras.initializers.RandomNormal(stddev=scale)
        self.kernel = self.add_weight(
            shape=(self.vocabulary_size, input_shape[-1]),
            initializer=for_large_matrix(normal),
            autocast=False,
            name="kernel",
        )
        self.bias = self.add_weight(
            shape=(self.vocabulary_size,),
            initializer="zeros",
            autocast=False,
            name="bias",
        )

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

    def sampled_losses(self, inputs, targets, seed, weights):
        """Estimates the cross entropies, from words drawn at random.

        Args:
            inputs: Tensor `(n, dim)`.
            targets: Integer tensor `(n,)`, the right words.
            seed: Integer or `keras.random.SeedGenerator`.
            weights: What `weights_to_sample` returned.

        Returns:
            float32 tensor `(n,)`.
        """
        if self._candidates is None:
            self._candidates = LogUniformCandidates(
                self.vocabulary_size, self.num_negatives
            )
        words, log_expected = self._candidates.draw(seed)
        inputs = self._cast(inputs)
        targets = ops.cast(targets, "int32")
        rows = ops.concatenate([targets, words])
        kernel, bias = [_rows_of(x, rows) for x in weights]
        kernel, bias = self._cast(kernel), self._widen(bias)
        count = ops.shape(inputs)[0]
        true = ops.sum(self._widen(inputs * kernel[:count]), axis=-1)
        true = true + bias[:count]  # (n,)
        # (n, candidates)
        others = self._widen(ops.matmul(inputs, ops.transpose(kernel[count:])))
        others = others + (bias[count:] - self._widen(log_expected))
        # The target's term is already in the sum.
        is_target = targets[:, None] == words[None]
        others = ops.where(is_target, _MINUS_INFINITY, others)
        return _log_sum(true, others) - true

    def weights_to_sample(self, adds_up_rows=False):
        """Returns the kernel and the bias, for one or several samples.

        Args:
            adds_up_rows: Boolean, whether the optimizer adds up what a gradient
                of TensorFlow has for the same row, drawn by several targets or
                in both directions. Keras' optimizers do not, so it is then done
                here.
        """
        weights = self.kernel, self.bias
        if adds_up_rows:
            return weights
        weights = [
            ops.convert_to_tensor(read_weight(weight, weight.dtype))
            for weight in weights
        ]
        if not backend().has_sparse_gradients:
            return weights
        from keras_elmo.pretraining.tensorflow_optimizers import distinct_rows

        return tuple(map(distinct_rows, weights))

    def _cast(self, values):
        return ops.cast(ops.convert_to_tensor(values), self.compute_dtype)

    def _widen(self, values):
        # Sums over a large vocabulary need full precision.
        return ops.cast(values, wide_dtype(self.compute_dtype))


def _rows_of(weights, rows):
    """Returns rows of a tensor, or of a variable on TensorFlow."""
    if not isinstance(weights, keras.Variable):
        return ops.take(weights, rows, axis=0)
    import tensorflow as tf

    # Reads these rows only: after sparse updates, TensorFlow copies a variable
    # whenever all of it is read.
    return tf.gather(weights.value, rows)


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
