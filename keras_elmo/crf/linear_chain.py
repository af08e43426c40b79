"""The algorithms of a linear-chain conditional random field.

All functions work on packed scores (`keras_elmo.crf.clique_scores`).
"""

from keras import ops

from keras_elmo.crf.clique_scores import IMPOSSIBLE
from keras_elmo.crf.clique_scores import unpack_scores
from keras_elmo.ops.sequences import pack_order
from keras_elmo.ops.sequences import pack_slots


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

    (last, _), (states, sizes) = ops.scan(
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
    shares = ops.sum(given * unpack_scores(fixed)[0], axis=(2, 3)) - sizes
    return ops.sum(with_gradient(shares, scores, given - pairs), axis=1)


def tag_pairs(scores, tags):
    """Like the pairs of `run_both_ways`, for known tags: ones and zeros."""
    cliques, mask = unpack_scores(scores)
    # The previous tag is that of the last real token, skipping any padding.
    slot = ops.maximum(pack_slots(mask) - 1, 0)
    place = ops.take_along_axis(pack_order(mask), slot, axis=1)
    tags = ops.where(mask, tags, 0)
    before = ops.take_along_axis(tags, place, axis=1)  # (batch, time)
    before, tags = (
        ops.one_hot(x, cliques.shape[-1], dtype=cliques.dtype)
        for x in (before, tags)
    )
    real = ops.cast(mask, cliques.dtype)[..., None, None]
    return before[..., None] * (tags[:, :, None] * real)


def with_gradient(value, scores, gradient):
    """Returns `value`, with `gradient` as its gradient by the clique scores.

    This avoids backpropagation through a recursion. There is no second
    derivative.
    """
    # For both: otherwise TensorFlow would still differentiate the loop.
    value, gradient = ops.stop_gradient(value), ops.stop_gradient(gradient)
    change, _ = unpack_scores(scores - ops.stop_gradient(scores))  # Zeros.
    return value + ops.sum(gradient * change, axis=(2, 3))


def marginals(scores):
    """Probability of each tag for each token: (batch, time, num_tags)."""
    return ops.sum(run_both_ways(scores)[1], axis=2)


def best_tags(scores):
    """Returns the tag sequence with the best score (Viterbi).

    Returns:
        int32 tensor `(batch, time)`, 0 at padding.
    """
    cliques, mask = unpack_scores(scores)
    states, _, last = run_chain(ops.max, scores, first_state(scores))
    before = ops.argmax(states[..., None] + cliques, axis=2)  # (b, t, tags)
    same = ops.arange(scores.shape[-1], dtype="int32")
    before = ops.where(mask[..., None], ops.cast(before, "int32"), same)

    def step(tag, before):  # (batch, 1), (batch, tags)
        return ops.take_along_axis(before, tag, axis=1), tag

    last = ops.cast(ops.argmax(last, axis=1, keepdims=True), "int32")
    before = ops.transpose(before, (1, 0, 2))
    _, tags = ops.scan(step, last, before, reverse=True)
    return ops.where(mask, ops.transpose(tags[..., 0]), 0)
