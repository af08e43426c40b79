"""Sentences with their vectors."""

import collections
import warnings

import numpy as np


def with_vectors(sentences, embed, output_dtype):
    """Yields pairs of a `Sentence` and its array.

    Args:
        sentences: Iterator of `Sentence`.
        embed: Function that takes an iterator of token lists and returns an
            iterator of one array for each, in order. It may read ahead.
        output_dtype: `"float32"` or `"float16"`, the dtype of the arrays in the
            pairs. The first array that overflows gives a warning.
    """
    waiting = collections.deque()
    warned = False

    def tokens():
        for sentence in sentences:
            waiting.append(sentence)
            yield sentence.tokens

    for vectors in embed(tokens()):
        with np.errstate(over="ignore"):
            cast = np.asarray(vectors, output_dtype)
        if output_dtype == "float16" and not warned and np.isinf(cast).any():
            warned = True
            warnings.warn(
                "Some values are beyond 65504, the largest in float16, and are "
                "stored as infinity. Use float32 to keep them.",
                stacklevel=2,
            )
        yield waiting.popleft(), cast


def mean_over_tokens(vectors):
    """Returns the mean of (..., tokens, width) over the tokens, or zeros."""
    return vectors.sum(axis=-2) / max(1, vectors.shape[-2])
