"""The endless text that one direction of a language model reads."""

import itertools

import numpy as np

# How many tokens are put into an order at a time.
_PART = 2**20


def token_stream(text, direction, seed, start=0):
    """Reads a text in endless passes, each in an order of its own.

    A pass takes the runs of the text in a random order, about a million tokens
    at a time, and shuffles the sentences among these. So the memory is bounded,
    and neighbours come from all of the text. The order depends on the
    direction, the seed, and the number of the pass.

    Args:
        text: The `NumberedText`.
        direction: 0 to read forward, where each sentence is a 0 and its words;
            1 to read backward, where it is a 1 and its words from the last one.
        seed: Non-negative integer, the seed of the orders.
        start: Integer, the number of the first token.

    Yields:
        The tokens from that one on, in int32 arrays.
    """
    first_pass, start = divmod(start, len(text.numbers))
    sizes = np.diff(text.starts)  # (runs,)
    for corpus_pass in itertools.count(first_pass):
        runs = _order(len(sizes), (direction, corpus_pass, 0, seed))
        ends = np.cumsum(sizes[runs])
        parts = np.diff((ends - 1) // _PART, prepend=-1).nonzero()[0]
        for i, j in itertools.pairwise([*parts, len(runs)]):
            begin, end = ends[i] - sizes[runs[i]], ends[j - 1]
            if start < end:
                entropy = direction, corpus_pass, i + 1, seed
                part = _shuffled(text.read(runs[i:j]), direction, entropy)
                yield part[max(0, start - begin) :]
        start = 0


def _shuffled(tokens, direction, entropy):
    """Returns sentences in a random order."""
    begins = np.flatnonzero(tokens == 0)  # (sentences,)
    lengths = np.diff(begins, append=len(tokens))
    order = _order(len(begins), entropy)
    begins, lengths = begins[order], lengths[order]
    firsts = np.cumsum(lengths) - lengths
    # Where each token is in its sentence, (tokens,).
    position = np.arange(len(tokens)) - np.repeat(firsts, lengths)
    if direction:
        backward = np.repeat(lengths, lengths) - position
        position = np.where(position, backward, 0)
    tokens = tokens[position + np.repeat(begins, lengths)]
    tokens[firsts] = direction
    return tokens


def _order(size, entropy):
    """Returns the numbers below `size` in an order that integers determine."""
    seed = np.random.SeedSequence(tuple(map(int, entropy)))
    # Unlike `Generator.permutation`, raw draws are the same in all versions of
    # NumPy.
    return np.argsort(np.random.Philox(seed).random_raw(size), kind="stable")
