"""The scores and the mask of a linear chain, packed into one tensor.

The *clique score* `s_t(i, j)` is the score of tag `j` at token `t` after tag
`i` at the previous token. The score of a tag sequence is the sum over its
tokens. The clique scores are packed with the mask into a single tensor:

    scores[b, t, i, j] = s_t(i, j), 0 at padding        (i < num_tags)
    scores[b, t, num_tags, j] = 1 at a real token, 0 at padding

The first real token has no previous tag: all of its rows are equal. Padding
may be anywhere.
"""

from keras import ops

# The score of what is forbidden. A sum of a few of these is still finite, and
# no real score comes close.
IMPOSSIBLE = -1e30


def pack_scores(potentials, mask, transitions, start, end):
    """Packs the clique scores of potentials and transitions.

    Minus infinity in any of the scores forbids a tag or a transition.

    Args:
        potentials: Tensor `(batch, time, num_tags)`.
        mask: Boolean tensor `(batch, time)`, true at real tokens.
        transitions: Tensor `(num_tags, num_tags)`, from row to column.
        start: Tensor `(num_tags,)`, for the first tag of a sentence.
        end: Tensor `(num_tags,)`, for the last tag of a sentence.

    Returns:
        Tensor `(batch, time, num_tags + 1, num_tags)`.
    """
    first, last = find_ends(mask)
    own = potentials + ops.where(last[..., None], end, 0)  # (b, t, tags)
    before = ops.where(first[..., None, None], start, transitions)
    scores = ops.where(mask[..., None, None], before + own[:, :, None], 0)
    # An infinity would make the sums NaN; NaN itself stays.
    scores = ops.where(scores < IMPOSSIBLE, IMPOSSIBLE, scores)
    real = ops.cast(mask, scores.dtype)[..., None] * ops.ones_like(own)
    return ops.concatenate([scores, real[:, :, None]], axis=2)


def unpack_scores(scores):
    """Returns the clique scores (batch, time, tags, tags) and the mask."""
    return scores[:, :, :-1], scores[:, :, -1, 0] > 0.5


def constrain(scores, transitions, start, end):
    """Sets packed scores to `IMPOSSIBLE` wherever they are not allowed.

    Args:
        scores: Packed scores.
        transitions: Boolean array `(num_tags, num_tags)`, whether the column's
            tag may follow the row's.
        start: Boolean array `(num_tags,)`, whether a sentence may begin with a
            tag.
        end: Boolean array `(num_tags,)`, whether a sentence may end with a tag.
    """
    transitions, start, end = (
        ops.convert_to_tensor(x, "bool") for x in (transitions, start, end)
    )
    _, mask = unpack_scores(scores)
    first, last = (x[..., None, None] for x in find_ends(mask))
    allowed = ops.where(first, start, transitions) & (~last | end)
    allowed = allowed | ~mask[..., None, None]  # (b, t, tags, tags)
    real = ops.ones_like(allowed[:, :, :1])  # Keeps the mask's row.
    allowed = ops.concatenate([allowed, real], axis=2)
    return ops.where(allowed, scores, IMPOSSIBLE)


def find_ends(mask):
    """Marks the first and the last real tokens: two tensors like `mask`."""
    number = ops.cumsum(ops.cast(mask, "int32"), axis=1)  # (batch, time)
    return mask & (number == 1), mask & (number == number[:, -1:])
