"""Which words a sampled softmax compares the right one with."""

import numpy as np
from keras import ops
from keras import random

# Draws are integers below this, so that every probability is exact.
_RESOLUTION = 2**30


class LogUniformCandidates:
    """Draws words of a vocabulary, the frequent ones more often.

    In a vocabulary sorted by falling count, counts fall about as 1 / rank. Word
    `i` of `n` is drawn with probability `p_i = log((i + 2) / (i + 1)) / log(n +
    1)`; what is wanted are different words, so that a draw counts `1 - (1 -
    p_i) ^ tries` times on average. These expected counts, whose sum is the
    number of candidates, are laid end to end, and from each unit of length one
    point is drawn: the expected counts are then exact, a word with one of 1 is
    always there, and few are there twice.

    Args:
        vocabulary_size: Integer, the number of words.
        num_candidates: Integer, how many to draw; at most all words, each once.
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
        """float64 array `(words,)`: how often each is drawn, on average."""
        with np.errstate(divide="ignore"):  # A word that is never drawn.
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
    """`1 - (1 - p) ^ tries`, with the `tries` for which it adds up."""
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
