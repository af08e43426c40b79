"""Checks of the inputs of a CRF's loss, metric and decoder."""

from keras import ops

from keras_elmo.crf.clique_scores import IMPOSSIBLE
from keras_elmo.crf.clique_scores import unpack_scores
from keras_elmo.crf.linear_chain import log_likelihood
from keras_elmo.ops.checks import concrete_value
from keras_elmo.ops.checks import require


def check_packed_shape(shape):
    """Raises `ValueError` unless a CRF layer's scores can have `shape`."""
    if len(shape) != 4 or shape[-1] is None or shape[-2] != shape[-1] + 1:
        raise ValueError(
            "Expected the scores that a CRF layer returns, of shape (batch, "
            f"time, num_tags + 1, num_tags). Received: shape={tuple(shape)}"
        )


def check_tag_shape(tags, scores):
    """Raises `ValueError` unless there is one tag per token of `scores`."""
    check_packed_shape(scores.shape)
    shape = tuple(tags.shape)
    fits = len(shape) == 2 and all(
        None in (got, expected) or got == expected
        for got, expected in zip(shape, scores.shape)
    )
    if not fits:
        raise ValueError(
            "Tags must be indices of shape (batch, time), here "
            f"{tuple(scores.shape[:2])}, not one-hot vectors. "
            f"Received: shape={shape}"
        )


def checked_log_likelihood(scores, tags):
    """`log_likelihood` of tags that come from a user.

    Args:
        scores: Packed scores.
        tags: Tensor or array `(batch, time)` of any numeric dtype; values at
            padding are ignored.

    Returns:
        Tensor `(batch,)`. Where values cannot be checked (see `require`), it is
        NaN if a tag is out of range.

    Raises:
        ValueError: If the shape is wrong, if a real token's tag is out of
            range, or if the scores forbid a sentence's tags.
    """
    tags = ops.cast(ops.convert_to_tensor(tags), "int32")
    check_tag_shape(tags, scores)
    _, mask = unpack_scores(scores)
    num_tags = scores.shape[-1]
    message = f"Tags of real tokens must be from 0 to {num_tags - 1}."
    good = ~mask | ((tags >= 0) & (tags < num_tags))
    wrong = concrete_value(ops.where(good, 0, tags))
    if wrong is not None:
        message += f" Received: {wrong[wrong != 0][:5].tolist()}"
    result = log_likelihood(scores, require(good, message, tags))
    result = require(
        # NaN is accepted, for `TerminateOnNaN`.
        (result > IMPOSSIBLE / 2) | ops.isnan(result),
        "A sentence's tags have probability zero: they break the CRF's "
        "`scheme`, or its inputs are -inf for one of them. Tags in the IOB1 "
        "format, as in CoNLL-2003, must be converted. Fix the tags, or "
        "constrain decoding only: pass the scheme to `CRFDecoder`. "
        "Received, with -1 at padding: tags",
        result,
        rows=ops.where(mask, tags, -1),
    )
    return ops.where(ops.all(good, axis=1), result, float("nan"))
