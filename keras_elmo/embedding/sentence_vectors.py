"""Sentences with their vectors."""

import collections
import warnings

import numpy as np

from keras_elmo.choices import VECTOR_DTYPES
from keras_elmo.ops.arguments import check_choice


def with_vectors(sentences, embed, dtype):
    """Yields pairs of a `Sentence` and its array.

    Args:
        sentences: Iterator of `Sentence`.
        embed: Function that takes an iterator of token lists and returns an
            iterator of one array for each. It may read ahead.
        dtype: The dtype of the arrays in the pairs.

    Raises:
        ValueError: If `embed` does not return one array of the right length
            for each sentence.
    """
    waiting = collections.deque()

    def tokens():
        for sentence in sentences:
            waiting.append(sentence)
            yield sentence.tokens

    check_choice("dtype", dtype, VECTOR_DTYPES)
    cast = _Cast(dtype)
    for vectors in embed(tokens()):
        if not waiting or len(waiting[0].tokens) != vectors.shape[-2]:
            raise ValueError(
                "`embed` must return an array (..., tokens, width) for each "
                f"sentence, in order. Received: shape {vectors.shape} "
                f"for {waiting[0].tokens if waiting else 'no sentence'}"
            )
        yield waiting.popleft(), cast(vectors)
    missing = len(waiting) + sum(1 for _ in sentences)
    if missing:
        raise ValueError(
            "`embed` must return an array for each sentence. "
            f"Received: none for the last {missing}"
        )


def mean_over_tokens(vectors):
    """Returns the mean of (..., tokens, width) over the tokens, or zeros."""
    return vectors.sum(axis=-2) / max(1, vectors.shape[-2])


class _Cast:
    """Casts arrays, and warns the first time that float16 overflows."""

    def __init__(self, dtype):
        self._dtype = dtype
        self._warned = False

    def __call__(self, vectors):
        with np.errstate(over="ignore"):
            cast = np.asarray(vectors, dtype=self._dtype)
        if self._dtype == "float16" and not self._warned:
            self._warned = np.isinf(cast).any()
            if self._warned:
                warnings.warn(
                    "Some values are beyond 65504, the largest in float16, and "
                    "are stored as infinity. Use float32 to keep them.",
                    stacklevel=2,
                )
        return cast
