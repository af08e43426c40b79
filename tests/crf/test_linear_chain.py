import itertools

import brute_force_crf as brute_force
import numpy as np
import pytest
from backend_gradients import input_gradient
from comparisons import assert_close
from comparisons import assert_equal
from conftest import ON_TENSORFLOW
from keras import ops
from keras.ops import convert_to_numpy as as_numpy
from tiers import quick_first

from keras_elmo.crf import linear_chain
from keras_elmo.crf.linear_chain import constrain
from keras_elmo.crf.linear_chain import pack_scores
from keras_elmo.crf.tags import allowed_tags
from keras_elmo.crf.tags import entity_tags
from keras_elmo.crf.tags import find_scheme

NAMES = ["O", "B-X", "I-X", "B-Y", "I-Y"]


def packed(chain, potentials=None):
    chosen = chain.potentials if potentials is None else potentials
    return pack_scores(
        ops.convert_to_tensor(chosen),
        ops.convert_to_tensor(chain.mask),
        *(ops.convert_to_tensor(x) for x in chain[3:]),
    )


def check_chain(chain, scores_of, marginal_limits=None):
    """Checks all results against the sums over all sequences.

    Args:
        chain: A `Chain`.
        scores_of: Function from potentials to packed scores.
        marginal_limits: Limits for marginals and gradients.
    """
    # What is at padding changes nothing.
    potentials = np.where(chain.mask[..., None], chain.potentials, 1e30)
    potentials = potentials.astype("float32")
    tags = np.where(chain.mask, chain.tags, 77)
    scores = scores_of(potentials)
    likelihood = as_numpy(linear_chain.log_likelihood(scores, tags))
    assert_close(likelihood, brute_force.log_likelihood(chain), atol=1e-5)
    assert np.all(likelihood[~chain.mask.any(axis=1)] == 0)
    assert_equal(linear_chain.best_tags(scores), brute_force.best_tags(chain))
    there, counts = (
        brute_force.expected_counts(chain, chosen)[0]
        for chosen in (chain.tags, None)
    )
    marginals = linear_chain.marginals(scores)
    assert_close(marginals, counts, **(marginal_limits or {}))
    gradient = input_gradient(
        lambda x: ops.sum(linear_chain.log_likelihood(scores_of(x), tags)),
        potentials,
    )
    assert np.all(gradient[~chain.mask] == 0)
    expected = np.where(np.isneginf(chain.potentials), 0, there - counts)
    limits = marginal_limits or {"rtol": 1e-4, "atol": 1e-5}
    assert_close(gradient, expected, **limits)


@pytest.mark.parametrize("num_tags", [1, 2, 4])
def test_equals_the_sum_over_all_sequences(num_tags):
    chain = brute_force.random_chain(brute_force.MASK, num_tags)
    check_chain(chain, lambda x: packed(chain, x))


def test_minus_infinity_forbids_a_tag():
    chain = brute_force.random_chain(brute_force.MASK, 3)
    # Forbids only what `chain.tags` does not need; at one token, all of it.
    needed = np.eye(3, dtype=bool)[chain.tags]
    chain.potentials[:2, 1][~needed[:2, 1]] = -np.inf
    chain.potentials[0, 2, np.argmin(needed[0, 2])] = -np.inf
    unused = np.ones((3, 3), bool)
    unused[chain.tags[:, :-1], chain.tags[:, 1:]] = False
    chain.transitions[tuple(np.argwhere(unused)[0])] = -np.inf
    check_chain(chain, lambda x: packed(chain, x))


def test_constraints_leave_the_allowed_sequences():
    chain = brute_force.random_chain(brute_force.MASK, 5)
    allowed = allowed_tags(NAMES, "BIO")
    low = brute_force.constrained(chain, allowed)
    low = low._replace(tags=brute_force.best_tags(low))
    check_chain(low, lambda x: constrain(packed(chain, x), *allowed))


def test_large_potentials():
    # Sums exceed the exact range of float32; differences must stay exact.
    chain = brute_force.random_chain([[1] * 7, [1] * 5 + [0] * 2], 3, 1e4)
    exact = {"rtol": 0, "atol": 5e-3}
    check_chain(chain, lambda x: packed(chain, x), exact)
    best = chain._replace(tags=brute_force.best_tags(chain))
    likelihood = linear_chain.log_likelihood(packed(chain), best.tags)
    assert_close(likelihood, brute_force.log_likelihood(best), **exact)


def large(chain):
    """Scores whose sums exceed the exact range of float32."""
    return chain._replace(potentials=chain.potentials + np.float32(1e4))


def impossible(chain):
    """A tag without probability at the second word."""
    chain.potentials[:, 1, 1] = -np.inf
    return chain


@pytest.mark.parametrize("names", brute_force.SCHEMES, ids=" ".join)
@pytest.mark.parametrize(
    ("change", "limit"),
    [(lambda chain: chain, 3e-7), (impossible, 3e-7), (large, 5e-3)],
)
def test_probabilities_of_entities(names, change, limit):
    allowed = allowed_tags(names, find_scheme(names))
    chain = change(brute_force.entity_chain(brute_force.MASK, names))
    scores = constrain(packed(chain), *allowed)
    chain = brute_force.constrained(chain, allowed)
    probabilities, lengths = linear_chain.entity_probabilities(
        scores, brute_force.best_tags(chain), entity_tags(names)
    )
    expected = brute_force.best_entities(chain, names)
    assert_close(probabilities, expected[0], rtol=0, atol=limit)
    assert_equal(lengths, expected[1])


@pytest.mark.parametrize("names", brute_force.SCHEMES, ids=" ".join)
def test_probabilities_of_parts_of_sentences(names):
    """That some tokens have given tags, and no entity goes on after them."""
    continues = entity_tags(names).continues
    chain = brute_force.random_chain(brute_force.MASK, len(names), 1.0)
    tags = np.where(chain.mask, chain.tags, 77)
    found = linear_chain.tag_probabilities(packed(chain), tags, continues)
    for row, mask in enumerate(chain.mask):
        own, step, longer = (as_numpy(x)[row, mask] for x in found)
        given = chain.tags[row, mask].tolist()
        every, logs = brute_force.sequences(chain, row)
        for start, end in itertools.combinations(range(len(given) + 1), 2):
            expected = sum(
                share
                for other, share in zip(every, np.exp(logs))
                if [*other[start:end]] == given[start:end]
                and not (other[end:] and continues[other[end - 1], other[end]])
            )
            share = own[start] * step[start + 1 : end].prod()
            share *= 1 - (longer[end] if end < len(given) else 0)
            np.testing.assert_allclose(share, expected, rtol=1e-4)


def test_ties_are_broken_by_whole_sequences():
    # The best are (0, 1) and (1, 0); each token by itself would take tag 0.
    chain = brute_force.random_chain([[1, 1]], 2, scale=0)
    chain.transitions[:] = [[-1, 0], [0, -1]]
    assert as_numpy(linear_chain.best_tags(packed(chain))).sum() == 1


@pytest.mark.parametrize("shape", [(0, 4), (2, 0), (0, 0)])
def test_no_tokens_at_all(shape):
    chain = brute_force.random_chain(np.ones(shape), 5)
    scores, kinds = packed(chain), entity_tags(NAMES)
    tags = as_numpy(linear_chain.best_tags(scores))
    assert tags.shape == shape and tags.dtype == "int32"
    assert tuple(linear_chain.marginals(scores).shape) == (*shape, 5)
    likelihood = linear_chain.log_likelihood(scores, chain.tags)
    assert_equal(likelihood, np.zeros(shape[0]))
    _, goes_on = linear_chain.continuations(scores, kinds.continues)
    assert tuple(goes_on.shape) == (*shape, 5, 5)
    found = linear_chain.entity_probabilities(scores, chain.tags, kinds)
    assert [tuple(x.shape) for x in found] == [shape, shape]


@ON_TENSORFLOW
@pytest.mark.parametrize("jit_compile", quick_first([True, False]))
def test_in_a_graph(jit_compile):
    import tensorflow as tf

    chain = brute_force.random_chain(brute_force.MASK, 3)

    def everything(scores, tags):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            likelihood = linear_chain.log_likelihood(scores, tags)
        gradient = tape.gradient(likelihood, scores)
        best = linear_chain.best_tags(scores)
        return likelihood, gradient, best, linear_chain.marginals(scores)

    # XLA compiles for fixed sizes.
    sizes = chain.mask.shape if jit_compile else (None, None)
    shapes = tf.TensorSpec((*sizes, 4, 3)), tf.TensorSpec(sizes, "int32")
    compiled = tf.function(everything, shapes, jit_compile=jit_compile)
    data = packed(chain), chain.tags
    for x, y in zip(compiled(*data), everything(*data), strict=True):
        assert_close(x, y, rtol=1e-5, atol=1e-5)
