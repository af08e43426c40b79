"""The endless text that one direction of a language model reads."""

import itertools

import numpy as np

# How many tokens are put into an order at a time.
_PART = 2**20


class TokenStream:
    """A text in endless passes, each in an order of its own.

    A pass takes the runs of the text in a random order, about a million tokens
    at a time, and shuffles the sentences among these. So the memory is bounded,
    and neighbours come from all of the text. The order depends on the
    direction, the seed, and the number of the pass.

    Args:
        text: The `NumberedText`.
        direction: 0 to read forward, where each sentence is a 0 and its words;
            1 to read backward, where it is a 1 and its words from the last one.
        seed: Non-negative integer, the seed of the orders.
    """

    def __init__(self, text, direction, seed):
        self._text = text
        self._direction = direction
        self._seed = seed

    def read(self, start):
        """Yields the tokens from the `start`-th one on, in int32 arrays."""
        length = len(self._text.numbers)
        first_pass, start = divmod(start, length)
        sizes = np.diff(self._text.starts)  # (runs,)
        for corpus_pass in itertools.count(first_pass):
            runs = self._order(len(sizes), corpus_pass, 0)
            ends = np.cumsum(sizes[runs])
            parts = np.diff((ends - 1) // _PART, prepend=-1).nonzero()[0]
            for i, j in itertools.pairwise([*parts, len(runs)]):
                begin, end = ends[i] - sizes[runs[i]], ends[j - 1]
                if start < end:
                    part = self._shuffled(runs[i:j], corpus_pass, i + 1)
                    yield part[max(0, start - begin) :]
            start = 0

    def _shuffled(self, runs, corpus_pass, key):
        """Returns the sentences of some runs, shuffled."""
        tokens = self._text.read(runs)
        begins = np.flatnonzero(tokens == 0)  # (sentences,)
        lengths = np.diff(begins, append=len(tokens))
        order = self._order(len(begins), corpus_pass, key)
        begins, lengths = begins[order], lengths[order]
        firsts = np.cumsum(lengths) - lengths
        # Where each token is in its sentence, (tokens,).
        position = np.arange(len(tokens)) - np.repeat(firsts, lengths)
        if self._direction:
            position = np.where(
                position, np.repeat(lengths, lengths) - position, 0
            )
        tokens = tokens[position + np.repeat(begins, lengths)]
        tokens[firsts] = self._direction
        return tokens

    def _order(self, size, corpus_pass, key):
        entropy = (self._direction, corpus_pass, key, self._seed)
        entropy = map(int, entropy)
        bits = np.random.Philox(np.random.SeedSequence(tuple(entropy)))
        # Unlike `Generator.permutation`, raw draws are the same in all versions
        # of NumPy.
        return np.argsort(bits.random_raw(size), kind="stable")
