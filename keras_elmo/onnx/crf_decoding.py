"""The decoding of a linear-chain CRF as ONNX operators."""

from typing import NamedTuple

import numpy as np

from keras_elmo.crf.linear_chain import IMPOSSIBLE
from keras_elmo.crf.tags import allowed_tags
from keras_elmo.crf.tags import entity_tags
from keras_elmo.onnx.graph_builder import as_array

TIME = np.array([1])
LAST = np.array([-1])


class CRFScores(NamedTuple):
    """The output of a `CRF` layer, in parts."""

    potentials: str
    """`(batch, time, num_tags)`"""
    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray


def crf_scores(crf, potentials):
    """The `CRFScores` of a `CRF` for a value `(batch, time, num_tags)`."""
    weights = crf.transitions, crf.start_transitions, crf.end_transitions
    return constrained(CRFScores(potentials, *map(as_array, weights)), crf)


def constrained(scores, layer):
    """Forbids what the scheme of a `CRF` or `CRFDecoder` does not allow."""
    allowed = allowed_tags(layer.tag_names, layer.scheme) or [True] * 3
    arrays = [
        np.where(ok, np.maximum(x, IMPOSSIBLE), IMPOSSIBLE).astype("float32")
        for ok, x in zip(allowed, scores[1:])
    ]
    return CRFScores(scores.potentials, *arrays)


def decode(graph, scores, layer, mask, length):
    """The outputs of a `CRFDecoder`, as values `(batch, time, n)`, float32.

    Args:
        graph: `GraphBuilder`.
        scores: `CRFScores`, with at least one token, real or padding.
        layer: The `CRFDecoder`.
        mask: Value `(batch, time, 1)`, float32, 0 at padding on the right.
        length: Value `(batch, 1)`, int64.
    """
    steps = _steps(graph, scores, mask, length)
    results = [tags] = [_best_tags(graph, scores, *steps)]
    if layer.return_marginals or layer.return_entities:
        marginals, follows = _marginals(graph, scores, *steps)
    if layer.return_marginals:
        results.append(marginals)
    if layer.return_entities:
        found = entity_tags(layer.tag_names)
        results += _entities(graph, found, tags, marginals, follows, *steps[1:])
    return [graph.add("Transpose", x, perm=[1, 0, 2]) for x in results]


def _steps(graph, scores, mask, length):
    """What the loops over tokens read, as values `(time, batch, n)`.

    Returns:
        A tuple: the scores of the tags, without transitions; the mask; and
        whether a token is the first one, `(time,)`.
    """
    positions = graph.positions(mask)  # (time,)
    last = graph.add("Equal", positions, graph.add("Sub", length, np.int64(1)))
    last = graph.add("Unsqueeze", graph.cast(last, "float32"), LAST)
    ends = graph.add("Mul", last, scores.end)  # (batch, time, tags)
    own = graph.add("Add", scores.potentials, ends)
    first = graph.cast(graph.add("Equal", positions, np.int64(0)), "float32")
    own, real = (graph.add("Transpose", x, perm=[1, 0, 2]) for x in (own, mask))
    return own, real, first


def _best_tags(graph, scores, own, real, first):
    """The tag sequence with the best score (Viterbi): `(time, batch, 1)`."""
    num_tags = len(scores.start)
    numbers = np.arange(num_tags, dtype="float32")[None]  # (1, tags)

    def forward(body, state, inputs):
        (score,) = state  # (batch, tags)
        own, real, first = inputs
        is_first, is_real = (body.cast(x, "bool") for x in (first, real))
        score = body.add("Unsqueeze", score, LAST)  # (batch, tags, 1)
        pairs = body.add("Add", score, scores.transitions)
        best = body.add("ReduceMax", pairs, TIME, keepdims=0)
        best = body.add("Where", is_first, scores.start, best)
        best = body.add("Add", best, own)
        largest = body.add("ReduceMax", best, TIME)
        best = body.add("Sub", best, largest)
        before = body.add("ArgMax", pairs, axis=1, keepdims=0)
        before = body.cast(before, "float32")
        before = body.add("Where", is_real, before, numbers)
        best = body.add("Where", is_real, best, state[0])
        return [best], [before]

    zeros = graph.zero_state(own, num_tags)
    (score,), (before,) = graph.scan(forward, [zeros], [own, real, first])

    def backward(body, state, inputs):
        (tag,) = state  # (batch, 1)
        (before,) = inputs  # (batch, tags)
        index = body.cast(tag, "int64")
        new = body.add("GatherElements", before, index, axis=1)
        return [new], [tag]

    tag = graph.cast(graph.add("ArgMax", score, axis=1), "float32")
    _, (tags,) = graph.scan(backward, [tag], [before], reverse=True)
    return tags


def _marginals(graph, scores, own, real, first):
    """Probabilities of the tags, by conditional ones.

        after_t(i) = logsumexp_j(s_(t+1)(i, j) + after_(t+1)(j))
        p(y_t = j | y_(t-1) = i) = softmax_j(s_t(i, j) + after_t(j))

    Returns:
        Values: the probability of each tag, 0 at padding, `(time, batch,
        tags)`; and the conditional probability of each tag (column) after each
        other one, `(time, batch, tags, tags)`.
    """

    def backward(body, state, inputs):
        (after,) = state  # (batch, tags)
        own, real, first = inputs
        is_first, is_real = (body.cast(x, "bool") for x in (first, real))
        before = body.add("Where", is_first, scores.start, scores.transitions)
        score = body.add("Unsqueeze", body.add("Add", own, after), TIME)
        score = body.add("Add", score, before)  # (batch, tags, tags)
        new = body.add("ReduceLogSumExp", score, LAST, keepdims=0)
        # Otherwise, its size would grow with the sentence.
        new = body.add("Sub", new, body.add("ReduceMax", new, LAST))
        follows = body.add("Softmax", score, axis=-1)
        return [body.add("Where", is_real, new, after)], [follows]

    def forward(body, state, inputs):
        (share,) = state  # (batch, tags)
        follows, real = inputs
        row = body.add("Unsqueeze", share, TIME)
        found = body.add("Squeeze", body.add("MatMul", row, follows), TIME)
        new = body.add("Where", body.cast(real, "bool"), found, share)
        return [new], [body.add("Mul", found, real)]

    zeros = graph.zero_state(own, len(scores.start))
    inputs = [own, real, first]
    _, (follows,) = graph.scan(backward, [zeros], inputs, reverse=True)
    # All rows of the first token are equal: any tag may be before it.
    one = np.eye(1, len(scores.start), dtype="float32")
    state = graph.add("Add", zeros, one)
    _, (marginals,) = graph.scan(forward, [state], [follows, real])
    return marginals, follows


def _entities(graph, entity_tags, tags, marginals, follows, real, first):
    """As `linear_chain.entity_probabilities`: the values are alike."""
    begins, continues = (np.float32(x) for x in entity_tags[1:])
    index = graph.cast(tags, "int64")  # (time, batch, 1)
    before = graph.add("Pad", index, np.array([1, *[0] * 5]))
    before = graph.cut(before, 0, 1, axis=0)
    begun = graph.add("Sub", np.float32(1), first)
    begun = graph.add("Unsqueeze", begun, np.array([1, 2]))  # (time, 1, 1)
    # What may follow the tag of the token before: (time, batch, tags)
    within = graph.add("GatherND", continues, before)
    within = graph.add("Mul", graph.add("Mul", within, begun), real)
    chances = graph.add("GatherND", follows, before, batch_dims=2)
    chances = graph.add("Mul", chances, within)
    inside, share, own = (
        graph.add("GatherElements", x, index, axis=2)
        for x in (within, chances, marginals)
    )
    ends = graph.add("ReduceSum", chances, LAST)
    ends = graph.add("Sub", np.float32(1), ends)
    ends = graph.add("Max", ends, np.float32(0))
    share = graph.add("Where", graph.cast(inside, "bool"), share, ends)

    def backward(body, state, inputs):
        share, inside = inputs  # (batch, 1)
        after, length = state
        is_inside = body.cast(inside, "bool")
        new = body.add("Where", is_inside, after, np.float32(1))
        new = body.add("Mul", new, share)
        number = body.add("Add", length, np.float32(1))
        return [new, body.add("Mul", number, inside)], state

    zeros = graph.zero_state(real, 1)
    states = [graph.add("Add", zeros, np.float32(1)), zeros]
    inputs = [share, inside]
    _, (after, lengths) = graph.scan(backward, states, inputs, reverse=True)
    lengths = graph.add("Add", lengths, np.float32(1))
    starts = graph.add("Mul", graph.add("Gather", begins, index), real)
    found = graph.add("Mul", own, after), lengths
    return [graph.add("Mul", x, starts) for x in found]
