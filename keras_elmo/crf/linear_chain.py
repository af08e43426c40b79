"""A linear-chain conditional random field: packed scores and algorithms.

The *clique score* `s_t(i, j)` is the score of tag `j` at token `t` after tag
`i` at the previous token. The score of a tag sequence is the sum over its
tokens. The clique scores are packed with the mask into a single tensor, which
all functions work on:

    scores[b, t, i, j] = s_t(i, j), 0 at padding        (i < num_tags)
    scores[b, t, num_tags, j] = 1 at a real token, 0 at padding

The first real token has no previous tag: all of its rows are equal. Padding
may be anywhere.
"""

import keras
from keras import ops

from keras_elmo.ops.backends import at_least_one
from keras_elmo.ops.padding import reading_order
from keras_elmo.ops.padding import reading_steps

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


def scan_tokens(step, state, inputs, reverse=False):
    """`ops.scan` over a tensor `(time, ...)`, also if there are no tokens."""
    time = ops.shape(inputs)[0]
    inputs = at_least_one(inputs)  # Or one token of padding.
    last, outputs = ops.scan(step, state, inputs, reverse=reverse)
    return last, keras.tree.map_structure(lambda x: x[:time], outputs)


def run_chain(reduce, scores, state):
    """Runs the recursion that all other functions use.

        total_t(j) = reduce_i(state_t(i) + s_t(i, j))
        size_t = reduce_j(total_t(j))
        state_{t + 1} = total_t - size_t

    With `logsumexp`, the sizes add up to the log of the sum over all sequences;
    with `max`, to the score of the best sequence. Padding leaves the state
    unchanged.

    Args:
        reduce: `ops.logsumexp` or `ops.max`.
        scores: Packed scores `(batch, time, num_tags + 1, num_tags)`.
        state: Tensor `(batch, num_tags)`, the initial state.

    Returns:
        The states *before* each token `(batch, time, num_tags)`, the sizes
        `(batch, time)` and the last state `(batch, num_tags)`.
    """

    def step(carry, x):  # (batch, num_tags + 1, num_tags)
        state, _ = carry
        total = reduce(state[:, :, None] + x[:, :-1], axis=1)  # (b, tags)
        size = reduce(total, axis=1, keepdims=True)  # (batch, 1)
        real = x[:, -1, :1] > 0.5
        new = ops.where(real, total - size, state)
        size = ops.where(real, size, 0)
        return (new, size), (state, size)

    (last, _), (states, sizes) = scan_tokens(
        step,
        (state, ops.zeros_like(state[:, :1])),
        ops.transpose(scores, (1, 0, 2, 3)),
    )
    states = ops.transpose(states, (1, 0, 2))
    return states, ops.transpose(sizes[..., 0]), last


def first_state(scores):
    """The state before all tokens, which selects one row: (batch, num_tags)."""
    batch, _, _, num_tags = ops.shape(scores)
    state = ops.where(ops.arange(num_tags) == 0, 0, IMPOSSIBLE)
    zeros = ops.zeros((batch, num_tags), scores.dtype)
    return zeros + ops.cast(state, scores.dtype)


def run_both_ways(scores):
    """Runs the forward and backward recursions together, in one batch.

    Returns:
        The forward sizes `(batch, time)`, and for each token the probability of
        each pair of tags `(batch, time, num_tags, num_tags)`.
    """
    cliques, mask = unpack_scores(scores)
    backward = ops.concatenate(
        [ops.swapaxes(cliques, 2, 3), scores[:, :, -1:]], axis=2
    )
    first = first_state(scores)  # (batch, tags)
    states, sizes, _ = run_chain(
        ops.logsumexp,
        ops.concatenate([scores, ops.flip(backward, axis=1)], axis=0),
        ops.concatenate([first, ops.zeros_like(first)], axis=0),
    )
    batch, time, _, num_tags = ops.shape(scores)
    before, after = states[:batch], ops.flip(states[batch:], axis=1)
    pairs = before[..., None] + cliques + after[:, :, None]
    pairs = ops.reshape(pairs, (batch, time, num_tags * num_tags))
    pairs = ops.exp(ops.log_softmax(pairs))
    pairs = ops.reshape(pairs, (batch, time, num_tags, num_tags))
    return sizes[:batch], ops.where(mask[..., None, None], pairs, 0)


def log_likelihood(scores, tags):
    """Log-probability of tag sequences.

    Args:
        scores: Packed scores.
        tags: Integer tensor `(batch, time)`; values at padding are ignored.

    Returns:
        Tensor `(batch,)`.
    """
    fixed = ops.stop_gradient(scores)
    sizes, pairs = run_both_ways(fixed)
    given = tag_pairs(fixed, tags)
    own = ops.sum(given * unpack_scores(fixed)[0], axis=(2, 3))
    # Also if all tags are impossible, so that the size is as small.
    shares = ops.where(own < IMPOSSIBLE / 2, IMPOSSIBLE, own - sizes)
    # Otherwise, TensorFlow would differentiate the loop.
    shares, gradient = map(ops.stop_gradient, (shares, given - pairs))
    change, _ = unpack_scores(scores - fixed)  # Zeros, with a gradient.
    return ops.sum(shares + ops.sum(gradient * change, axis=(2, 3)), axis=1)


def tag_pairs(scores, tags):
    """Like the pairs of `run_both_ways`, for known tags: ones and zeros."""
    cliques, mask = unpack_scores(scores)
    # The previous tag is that of the last real token, skipping any padding.
    step = ops.maximum(reading_steps(mask) - 1, 0)
    index = ops.take_along_axis(reading_order(mask), step, axis=1)
    tags = ops.where(mask, tags, 0)
    before = ops.take_along_axis(tags, index, axis=1)  # (batch, time)
    before, tags = (
        ops.one_hot(x, cliques.shape[-1], dtype=cliques.dtype)
        for x in (before, tags)
    )
    real = ops.cast(mask, cliques.dtype)[..., None, None]
    return before[..., None] * (tags[:, :, None] * real)


def marginals(scores):
    """Probability of each tag for each token: (batch, time, num_tags)."""
    return ops.sum(run_both_ways(scores)[1], axis=2)


def continuations(scores, continues):
    """How probable each tag is, and that the entity of each goes on.

    Args:
        scores: Packed scores.
        continues: As in `EntityTags`.

    Returns:
        The `marginals`; and for each token, the conditional probability of each
        tag (column) after each tag of the token before (row), 0 unless it
        continues its entity: `(batch, time, num_tags, num_tags)`.
    """
    pairs, shares = _transitions(scores)
    return ops.sum(pairs, axis=2), _within_entities(scores, shares, continues)


def _transitions(scores):
    """The pairs of `run_both_ways`, and P(tag | tag before), of their shape."""
    _, pairs = run_both_ways(scores)
    before = ops.sum(pairs, axis=3, keepdims=True)
    return pairs, pairs / ops.where(before > 0, before, 1)


def _within_entities(scores, shares, continues):
    """Sets `shares` to 0 where no entity goes on."""
    first, _ = find_ends(unpack_scores(scores)[1])  # No tag is before it.
    within = ops.convert_to_tensor(continues) & ~first[..., None, None]
    return ops.where(within, shares, 0)


def tag_probabilities(scores, tags, continues):
    """Probabilities of given tags, one after the other.

    The probability that tokens `i` to `n` have exactly these tags, and that no
    entity goes on after them, is

        p(y_i) prod_k p(y_k | y_(k-1)) * (1 - p(y_(n+1) continues it | y_n))

    Args:
        scores: Packed scores.
        tags: Integer tensor `(batch, time)`; values at padding are ignored.
        continues: As in `EntityTags`.

    Returns:
        For each token `k`, `p(y_k)`; `p(y_k | y_(k-1))`; and that the entity of
        the token before it goes on: three tensors `(batch, time)`.
    """
    tags = ops.where(unpack_scores(scores)[1], tags, 0)
    pairs, shares = _transitions(scores)
    given = tag_pairs(scores, tags)
    goes_on = _within_entities(scores, shares, continues)
    longer = ops.sum(given, axis=3, keepdims=True) * goes_on
    marginals = ops.sum(pairs, axis=2)
    own = ops.take_along_axis(marginals, tags[..., None], axis=2)[..., 0]
    return own, ops.sum(given * shares, (2, 3)), ops.sum(longer, (2, 3))


def entity_probabilities(scores, tags, entity_tags):
    """Probability of the entities that tags mark.

    In a scheme, only one sequence of tags marks a given entity:

        P(y_i, ..., y_n is an entity) = p(y_i) prod_k p(y_k | y_(k-1))
            * (1 - p(y_(n+1) continues it | y_n))

    Args:
        scores: Packed scores, in which a scheme is all that is possible.
        tags: Integer tensor `(batch, time)` of tags in that scheme.
        entity_tags: `EntityTags` of the tags.

    Returns:
        The probability of the entity that begins at each token, and its number
        of tokens, int32, both `(batch, time)` and 0 where none begins.
    """
    _, mask = unpack_scores(scores)
    tags = ops.where(mask, tags, 0)
    own, share, longer = tag_probabilities(scores, tags, entity_tags.continues)
    continues = ops.convert_to_tensor(entity_tags.continues, scores.dtype)
    given = tag_pairs(scores, tags)
    inside = ops.sum(given * continues, axis=(2, 3)) > 0.5
    inside = inside & ~find_ends(mask)[0]
    share = ops.where(inside, share, ops.maximum(1 - longer, 0))
    # The probability of what is left of the entity, and its tokens.
    none = ops.convert_to_tensor([[1, 0]], scores.dtype)

    def step(after, x):  # (batch, 2), (batch, 3)
        share, inside, real = x[:, :1], x[:, 1:2], x[:, 2:]
        goes_on = ops.where(inside > 0.5, after, none)
        new = ops.concatenate(
            [goes_on[:, :1] * share, goes_on[:, 1:] + inside], axis=1
        )
        return ops.where(real > 0.5, new, after), after

    flags = (ops.cast(x, scores.dtype) for x in (inside, mask))
    x = ops.stack([share, *flags], axis=2)  # (batch, time, 3)
    _, after = scan_tokens(
        step,
        ops.zeros_like(first_state(scores)[:, :1]) + none,
        ops.swapaxes(x, 0, 1),
        reverse=True,
    )
    after = ops.swapaxes(after, 0, 1)  # (batch, time, 2)
    begins = ops.take(ops.convert_to_tensor(entity_tags.begins), tags) & mask
    lengths = ops.cast(after[..., 1], "int32") + 1
    found = ops.where(begins, own * after[..., 0], 0)
    return found, ops.where(begins, lengths, 0)


def best_tags(scores):
    """Returns the tag sequence with the best score (Viterbi).

    Returns:
        int32 tensor `(batch, time)`, 0 at padding.
    """
    cliques, mask = unpack_scores(scores)
    if 0 in mask.shape:  # Keras refuses to take the maximum of nothing.
        return ops.cast(mask, "int32")
    states, _, last = run_chain(ops.max, scores, first_state(scores))
    before = ops.argmax(states[..., None] + cliques, axis=2)  # (b, t, tags)
    same = ops.arange(scores.shape[-1], dtype="int32")
    before = ops.where(mask[..., None], ops.cast(before, "int32"), same)

    def step(tag, before):  # (batch, 1), (batch, tags)
        return ops.take_along_axis(before, tag, axis=1), tag

    last = ops.cast(ops.argmax(last, axis=1, keepdims=True), "int32")
    before = ops.transpose(before, (1, 0, 2))
    _, tags = scan_tokens(step, last, before, reverse=True)
    return ops.where(mask, ops.transpose(tags[..., 0]), 0)
