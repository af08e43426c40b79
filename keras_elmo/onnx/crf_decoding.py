"""The decoding of a linear-chain CRF as ONNX operators."""

from typing import NamedTuple

import numpy as np

from keras_elmo.crf.linear_chain import IMPOSSIBLE
from keras_elmo.crf.tags import allowed_tags
from keras_elmo.onnx.graph_builder import as_array

TIME = np.array([1])
LAST = np.array([-1])


class Chain(NamedTuple):
    """The output of a `CRF` layer, in parts."""

    potentials: str
    """`(batch, time, num_tags)`"""
    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray


def chain_of(crf, potentials):
    """The `Chain` of a `CRF` layer for a value `(batch, time, num_tags)`."""
    chain = Chain(
        potentials,
        as_array(crf.transitions),
        as_array(crf.start_transitions),
        as_array(crf.end_transitions),
    )
    return constrained(chain, crf)


def constrained(chain, layer):
    """Forbids what the scheme of a `CRF` or `CRFDecoder` does not allow."""
    allowed = allowed_tags(layer.tag_names, layer.scheme)
    if allowed is None:
        allowed = [True] * 3
    arrays = [
        np.where(ok, np.maximum(x, IMPOSSIBLE), IMPOSSIBLE).astype("float32")
        for ok, x in zip(allowed, chain[1:])
    ]
    return Chain(chain.potentials, *arrays)


def best_tags(graph, chain, mask, length):
    """The tag sequence with the best score (Viterbi).

    Args:
        graph: `GraphBuilder`.
        chain: `Chain`, with at least one token, real or padding.
        mask: Value `(batch, time, 1)`, float32, 0 at padding.
        length: Value `(batch, 1)`, int64.

    Returns:
        Value `(batch, time, 1)`, float32: the tags' indices.
    """
    num_tags = len(chain.start)
    numbers = np.arange(num_tags, dtype="float32")[None]  # (1, tags)
    places = graph.place_numbers(mask)  # (time,)
    last = graph.add("Equal", places, graph.add("Sub", length, np.int64(1)))
    last = graph.add("Unsqueeze", graph.cast(last, "float32"), LAST)
    ends = graph.add("Mul", last, chain.end)  # (batch, time, tags)
    own = graph.add("Add", chain.potentials, ends)
    first = graph.cast(graph.add("Equal", places, np.int64(0)), "float32")
    own, real = (
        graph.add("Transpose", x, perm=[1, 0, 2]) for x in (own, mask)
    )  # (time, batch, ...)

    def forward(body, state, inputs):
        (score,) = state  # (batch, tags)
        own, real, first = inputs
        is_first, is_real = (body.cast(x, "bool") for x in (first, real))
        score = body.add("Unsqueeze", score, LAST)  # (batch, tags, 1)
        pairs = body.add("Add", score, chain.transitions)
        best = body.add("ReduceMax", pairs, TIME, keepdims=0)
        best = body.add("Where", is_first, chain.start, best)
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
    return graph.add("Transpose", tags, perm=[1, 0, 2])
