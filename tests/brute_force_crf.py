"""A CRF computed by summing over all sequences of tags, in float64."""

import collections
import itertools
from typing import NamedTuple

import numpy as np

from keras_elmo.crf.tags import entities
from keras_elmo.crf.tags import entity_tags

# Labels of each scheme.
SCHEMES = [
    ["O", "B-X", "I-X", "B-Y", "I-Y"],
    ["I", "B", "O"],
    ["O", "B-X", "I-X", "E-X", "S-X"],
    ["U-X", "O", "L-X", "B-X", "I-X"],
]

# Right padding, left padding, gaps, one token, none.
MASK = [
    [1, 1, 1, 1],
    [1, 1, 0, 0],
    [0, 0, 1, 1],
    [1, 0, 1, 0],
    [0, 1, 1, 1],
    [0, 0, 1, 0],
    [0, 0, 0, 0],
]


class Chain(NamedTuple):
    """Random chains and their parameters."""

    potentials: np.ndarray
    mask: np.ndarray
    tags: np.ndarray
    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray


def random_chain(mask, num_tags, scale=2.0, seed=0):
    generator = np.random.default_rng(seed)
    mask = np.array(mask, bool)

    def normal(*shape):
        return generator.normal(0, scale, shape).astype("float32")

    return Chain(
        normal(*mask.shape, num_tags),
        mask,
        generator.integers(0, num_tags, mask.shape).astype("int32"),
        normal(num_tags, num_tags),
        normal(num_tags),
        normal(num_tags),
    )


def score(chain, row, tags):
    """Returns the score of `tags`, a tuple with a tag for each real token."""
    if not tags:
        return 0.0
    own = chain.potentials[row][chain.mask[row]].astype("float64")
    total = sum(token[tag] for token, tag in zip(own, tags))
    total += sum(chain.transitions[pair] for pair in itertools.pairwise(tags))
    return total + chain.start[tags[0]] + chain.end[tags[-1]]


def sequences(chain, row):
    """Returns all tag sequences of a row, and their log probabilities."""
    length = chain.mask[row].sum()
    every = [*itertools.product(range(len(chain.start)), repeat=length)]
    scores = np.array([score(chain, row, tags) for tags in every], "float64")
    top = scores.max()
    return every, scores - top - np.log(np.exp(scores - top).sum())


def log_likelihood(chain):
    result = []
    for row, mask in enumerate(chain.mask):
        every, logs = sequences(chain, row)
        result.append(logs[every.index(tuple(chain.tags[row][mask].tolist()))])
    return np.array(result)


def best_tags(chain):
    result = np.zeros(chain.mask.shape, "int32")
    for row, mask in enumerate(chain.mask):
        every, logs = sequences(chain, row)
        result[row, mask] = every[logs.argmax()]
    return result


def constrained(chain, allowed):
    """Returns a chain of one sentence in which `AllowedTags` hold."""
    transitions, start, end = (np.where(x, 0, -np.inf) for x in allowed)
    return chain._replace(
        transitions=chain.transitions + transitions,
        start=chain.start + start,
        end=chain.end + end,
    )


def span_probabilities(chain, names):
    """The probability of each entity.

    Args:
        chain: `Chain`.
        names: List of the names of its tags.

    Returns:
        For each sentence, a `Counter` from the first word's and the last word's
        place, and the type.
    """
    result = [collections.Counter() for _ in chain.mask]
    for row, mask in enumerate(chain.mask):
        places = np.flatnonzero(mask).tolist()
        every, logs = sequences(chain, row)
        for tags, probability in zip(every, np.exp(logs).tolist()):
            for start, end, kind in entities([names[i] for i in tags]):
                result[row][places[start], places[end - 1], kind] += probability
    return result


def entity_chain(mask, names):
    """Returns random chains in which entities of several words are likely."""
    chain = random_chain(mask, len(names), 1.0)
    longer = chain.transitions + np.float32(2 * entity_tags(names).continues)
    return chain._replace(transitions=longer)


def best_entities(chain, names):
    """The entities in the best tags, at their first words.

    Returns:
        Their probabilities and their lengths, and zeros elsewhere.
    """
    every, best = span_probabilities(chain, names), best_tags(chain)
    probabilities, lengths = np.zeros((2, *chain.mask.shape))
    for row, mask in enumerate(chain.mask):
        places = np.flatnonzero(mask)
        for start, end, kind in entities([names[i] for i in best[row, mask]]):
            span = places[start], places[end - 1], kind
            probabilities[row, places[start]] = every[row][span]
            lengths[row, places[start]] = end - start
    assert lengths.max() > 1 and probabilities.max() > 0.3
    return probabilities, lengths


def expected_counts(chain, chosen=None):
    """Returns how often each weight is used, on average or in `chosen`.

    Returns:
        The counts of the potentials (the marginals), the transitions, the
        starts and the ends: the derivatives of the log partition function, or
        of the score of the tags `chosen`.
    """
    counts = [
        np.zeros(x.shape)
        for x in (chain.potentials, chain.transitions, chain.start, chain.end)
    ]
    own, transitions, start, end = counts
    for row, mask in enumerate(chain.mask):
        if chosen is None:
            every, logs = sequences(chain, row)
        else:
            every, logs = [tuple(chosen[row][mask].tolist())], [0.0]
        places = np.flatnonzero(mask)
        for tags, probability in zip(every, np.exp(logs)):
            if not tags:
                continue
            own[row, places, tags] += probability
            start[tags[0]] += probability
            end[tags[-1]] += probability
            for pair in itertools.pairwise(tags):
                transitions[pair] += probability
    return counts
