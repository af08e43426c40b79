"""What is known of a linear chain, in one tensor.

The *clique score* `s_t(i, j)` is that of tag `j` at token `t` with tag `i` at
the token before. A sentence of tags scores the sum over its tokens. The scores
come packed with the mask: one tensor says all there is to know of a chain.

    scores[b, t, i, j] = s_t(i, j), 0 at padding        (i < num_tags)
    scores[b, t, num_tags, j] = 1 at a real token, 0 at padding

No tag is before the first real token: all of its rows are equal. Padding may
lie anywhere.
"""

from keras import ops

# The score of what cannot be: the sum of a few is finite, and nothing real
# comes near.
IMPOSSIBLE = -1e30


def pack_scores(potentials, mask, transitions, start, end):
    """Clique scores from each token's own and from the chain's.

    Args:
        potentials: Tensor `(batch, time, num_tags)`. Minus infinity, here and
            in the chain's, is what cannot be.
        mask: Boolean tensor `(batch, time)`, true at real tokens.
        transitions: Tensor `(num_tags, num_tags)`, from row to column.
        start: Tensor `(num_tags,)`, for the first tag of a sentence.
        end: Tensor `(num_tags,)`, for the last.

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
    """The clique scores (batch, time, tags, tags); the mask (batch, time)."""
    return scores[:, :, :-1], scores[:, :, -1, 0] > 0.5


def constrain(scores, transitions, start, end):
    """Packed scores that leave only what is allowed.

    Args:
        scores: Packed scores.
        transitions: Boolean array `(num_tags, num_tags)`, what may follow what.
        start: Boolean array `(num_tags,)`, what a sentence may begin with.
        end: Boolean array `(num_tags,)`, what it may end with.
    """
    transitions, start, end = (
        ops.convert_to_tensor(x, "bool") for x in (transitions, start, end)
    )
    _, mask = unpack_scores(scores)
    first, last = (x[..., None, None] for x in find_ends(mask))
    allowed = ops.where(first, start, transitions) & (~last | end)
    allowed = allowed | ~mask[..., None, None]  # (b, t, tags, tags)
    real = ops.ones_like(allowed[:, :, :1])  # That row stays.
    allowed = ops.concatenate([allowed, real], axis=2)
    return ops.where(allowed, scores, IMPOSSIBLE)


def find_ends(mask):
    """Where the first real tokens are, and the last: two like `mask`."""
    number = ops.cumsum(ops.cast(mask, "int32"), axis=1)  # (batch, time)
    return mask & (number == 1), mask & (number == number[:, -1:])
