"""The negative samples of a sampled softmax."""

import numpy as np
from keras import ops
from keras import random

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
