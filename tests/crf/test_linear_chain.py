import brute_force_crf as brute_force
import keras
import numpy as np
import pytest
from backend_gradients import input_gradient
from comparisons import assert_close
from comparisons import assert_equal
from keras import ops
from keras.ops import convert_to_numpy as as_numpy
from tiers import quick_first

from keras_elmo.crf import linear_chain
from keras_elmo.crf.linear_chain import constrain
from keras_elmo.crf.linear_chain import pack_scores
from keras_elmo.crf.tags import allowed_tags
from keras_elmo.crf.tags import entities
from keras_elmo.crf.tags import entity_tags

NAMES = ["O", "B-X", "I-X", "B-Y", "I-Y"]


def packed(chain, potentials=None):
    return pack_scores(
        ops.convert_to_tensor(
            chain.potentials if potentials is None else potentials
        ),
        ops.convert_to_tensor(chain.mask),
        *(ops.convert_to_tensor(x) for x in chain[3:]),
    )


def test_the_sizes_add_up_to_the_partition_function():
    chain = brute_force.random_chain(brute_force.MASK, 4)
    sizes = as_numpy(linear_chain.run_both_ways(packed(chain))[0])
    assert_close(sizes.sum(axis=1), brute_force.log_partition(chain), atol=1e-5)
    assert np.all(sizes[~chain.mask] == 0)


def test_marginals_are_what_the_gradient_takes_from_the_tags():
    chain = brute_force.random_chain(brute_force.MASK, 4)

    def total(potentials):
        scores = packed(chain, potentials)
        return ops.sum(linear_chain.log_likelihood(scores, chain.tags))

    tags = np.eye(4)[chain.tags] * chain.mask[..., None]
    assert_close(
        tags - input_gradient(total, chain.potentials),
        linear_chain.marginals(packed(chain)),
        rtol=1e-6,
        atol=1e-7,
    )


def test_what_is_at_padding_changes_nothing():
    chain = brute_force.random_chain(brute_force.MASK, 3)
    potentials = np.where(chain.mask[..., None], chain.potentials, 1e30)
    tags = np.where(chain.mask, chain.tags, 77)
    changed = packed(chain, potentials.astype("float32"))
    for function, more in (
        (linear_chain.log_likelihood, [[chain.tags], [tags]]),
        (linear_chain.best_tags, [[], []]),
        (linear_chain.marginals, [[], []]),
    ):
        assert_equal(
            function(packed(chain), *more[0]), function(changed, *more[1])
        )


def test_padding_and_company_change_nothing_but_rounding():
    chain = brute_force.random_chain([[1] * 6, [1] * 6], 4)
    wide = chain._replace(
        potentials=np.pad(chain.potentials, ((0, 3), (0, 5), (0, 0))),
        mask=np.pad(chain.mask, ((0, 3), (0, 5))),
        tags=np.pad(chain.tags, ((0, 3), (0, 5))),
    )
    for function, tags in (
        (linear_chain.log_likelihood, True),
        (linear_chain.marginals, False),
        (linear_chain.best_tags, False),
    ):
        alone, padded = (
            as_numpy(function(packed(c), *([c.tags] if tags else [])))
            for c in (chain, wide)
        )
        padded = padded[:2] if tags else padded[:2, :6]
        assert_close(padded, alone)


SCHEMES = {
    "BIO": (NAMES, "BIO"),
    "BIO without types": (["O", "B", "I"], "BIO"),
    "BIOES": (["O", "B-X", "I-X", "E-X", "S-X"], "BIOES"),
    "all sequences": (NAMES, None),
    "O last": (["I-X", "B-X", "O"], None),
}


@pytest.mark.parametrize("case", SCHEMES)
def test_probabilities_of_entities(case):
    names, scheme = SCHEMES[case]
    allowed = allowed_tags(names, scheme)
    tags = entity_tags(names)
    chain = brute_force.random_chain(brute_force.MASK, len(names), 1.0)
    longer = chain.transitions + np.float32(2 * tags.continues)
    chain = chain._replace(transitions=longer)
    scores = packed(chain)
    if allowed:
        scores = constrain(scores, *allowed)
        chain = brute_force.constrained(chain, allowed)

    def find(tags):
        return entities([names[i] for i in tags])

    expected = brute_force.span_probabilities(chain, tags, find)
    for most in (1, 2, 4):
        found = linear_chain.span_probabilities(scores, tags, most)
        longer = expected[:, :, most:].sum(axis=2, keepdims=True)
        wanted = np.concatenate([expected[:, :, :most], longer], axis=2)
        assert_close(found, wanted, rtol=0, atol=3e-7)
    best = brute_force.best_tags(chain)
    probabilities, lengths = np.zeros((2, *chain.mask.shape))
    for row, mask in enumerate(chain.mask):
        places = np.flatnonzero(mask)
        for start, end, kind in find(best[row, mask]):
            length, kind = end - start, tags.kinds.index(kind)
            lengths[row, places[start]] = length
            share = expected[row, places[start], length - 1, kind]
            probabilities[row, places[start]] = share
    found = linear_chain.entity_probabilities(scores, best, tags)
    assert_close(found[0], probabilities, rtol=0, atol=3e-7)
    assert_equal(found[1], lengths)
    assert lengths.max() > 1 and probabilities.max() > 0.3


def test_entities_of_no_tokens():
    tags = entity_tags(NAMES)
    for shape in ((0, 3), (2, 0)):
        chain = brute_force.random_chain(np.ones(shape), 5)
        spans = linear_chain.span_probabilities(packed(chain), tags, 2)
        assert tuple(spans.shape) == (*shape, 3, 2)
        found = linear_chain.entity_probabilities(
            packed(chain), chain.tags, tags
        )
        assert [tuple(x.shape) for x in found] == [shape, shape]


def test_large_potentials():
    # Sums exceed the exact range of float32; differences must stay exact.
    chain = brute_force.random_chain([[1] * 7, [1] * 5 + [0] * 2], 3, 1e4)
    scores = packed(chain)
    best = brute_force.best_tags(chain)
    assert_equal(linear_chain.best_tags(scores), best)
    likelihood = as_numpy(linear_chain.log_likelihood(scores, best))
    expected = brute_force.log_likelihood(chain._replace(tags=best))
    assert_close(likelihood, expected, rtol=0, atol=5e-3)
    likelihood = as_numpy(linear_chain.log_likelihood(scores, chain.tags))
    expected = brute_force.log_likelihood(chain)
    assert_close(likelihood, expected, atol=0)
    marginals = as_numpy(linear_chain.marginals(scores))
    assert_close(
        marginals, brute_force.expected_counts(chain)[0], rtol=0, atol=5e-3
    )
    gradient = input_gradient(
        lambda x: ops.sum(
            linear_chain.log_likelihood(packed(chain, x), chain.tags)
        ),
        chain.potentials,
    )
    there, expected = (
        brute_force.expected_counts(chain, chosen)[0]
        for chosen in (chain.tags, None)
    )
    assert_close(gradient, there - expected, rtol=0, atol=5e-3)


@pytest.mark.exhaustive
def test_long_sentences_stay_exact():
    # Independent tokens, whose log-likelihood is a sum of log-softmaxes.
    generator = np.random.default_rng(0)
    potentials = generator.normal(0, 200, (1, 300, 3)).astype("float32")
    tags = generator.integers(0, 3, (1, 300))
    zeros = np.zeros((3, 3), "float32")
    scores = pack_scores(
        ops.convert_to_tensor(potentials),
        ops.ones((1, 300), "bool"),
        *(ops.convert_to_tensor(x) for x in (zeros, zeros[0], zeros[0])),
    )
    wide = potentials[0].astype("float64")
    top = wide.max(axis=1, keepdims=True)
    logs = wide - top - np.log(np.exp(wide - top).sum(1, keepdims=True))
    expected = logs[np.arange(300), tags[0]].sum()
    found = as_numpy(linear_chain.log_likelihood(scores, tags))
    assert_close(found, [expected], atol=0)
    assert_close(
        as_numpy(linear_chain.marginals(scores))[0],
        np.exp(logs),
        rtol=0,
        atol=1e-4,
    )
    assert_equal(
        as_numpy(linear_chain.best_tags(scores))[0], wide.argmax(axis=1)
    )


def test_constraints_leave_the_allowed_sequences():
    chain = brute_force.random_chain(brute_force.MASK, 5)
    allowed = allowed_tags(NAMES, "BIO")
    # Forbidden tags get a score so low that they add nothing in float64.
    low = chain._replace(
        transitions=np.where(allowed.transitions, chain.transitions, -1e9),
        start=np.where(allowed.start, chain.start, -1e9),
        end=np.where(allowed.end, chain.end, -1e9),
    )
    tags = brute_force.best_tags(low)
    low = low._replace(tags=np.where(chain.mask, tags, chain.tags))
    scores = constrain(packed(chain), *allowed)
    assert_equal(linear_chain.best_tags(scores), tags)
    assert_close(
        linear_chain.log_likelihood(scores, low.tags),
        brute_force.log_likelihood(low),
        atol=1e-5,
    )
    assert_close(
        linear_chain.marginals(scores), brute_force.expected_counts(low)[0]
    )
    gradient = input_gradient(
        lambda x: ops.sum(
            linear_chain.log_likelihood(
                constrain(packed(chain, x), *allowed), low.tags
            )
        ),
        chain.potentials,
    )
    there, expected = (
        brute_force.expected_counts(low, chosen)[0]
        for chosen in (low.tags, None)
    )
    assert_close(gradient, there - expected, rtol=1e-4, atol=1e-5)


def test_ties_are_broken_by_whole_sequences():
    # The best are (0, 1) and (1, 0); each token by itself would take tag 0.
    zeros = np.zeros((1, 2, 2), "float32")
    scores = pack_scores(
        ops.convert_to_tensor(zeros),
        ops.ones((1, 2), "bool"),
        ops.convert_to_tensor(np.array([[-1, 0], [0, -1]], "float32")),
        ops.zeros((2,)),
        ops.zeros((2,)),
    )
    tags = as_numpy(linear_chain.best_tags(scores))[0].tolist()
    assert tags in ([0, 1], [1, 0])


@pytest.mark.parametrize("shape", [(0, 4), (2, 0), (0, 0)])
def test_no_tokens_at_all(shape):
    chain = brute_force.random_chain(np.zeros(shape), 3)
    scores = packed(chain)
    tags = as_numpy(linear_chain.best_tags(scores))
    assert tags.shape == shape and tags.dtype == "int32"
    assert tuple(linear_chain.marginals(scores).shape) == (*shape, 3)
    assert_equal(
        linear_chain.log_likelihood(scores, chain.tags), np.zeros(shape[0])
    )


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Graphs are TensorFlow's."
)
@pytest.mark.parametrize("jit_compile", quick_first([True, False]))
def test_in_a_graph(jit_compile):
    import tensorflow as tf

    chain = brute_force.random_chain(brute_force.MASK, 3)
    # XLA compiles for fixed sizes.
    sizes = None if not jit_compile else len(brute_force.MASK)
    time = None if not jit_compile else len(brute_force.MASK[0])

    @tf.function(
        input_signature=[
            tf.TensorSpec((sizes, time, 4, 3), "float32"),
            tf.TensorSpec((sizes, time), "int32"),
        ],
        jit_compile=jit_compile,
    )
    def everything(scores, tags):
        likelihood = linear_chain.log_likelihood(scores, tags)
        return (
            likelihood,
            linear_chain.best_tags(scores),
            linear_chain.marginals(scores),
            tf.gradients(likelihood, scores)[0][:, :, :-1],
        )

    scores = packed(chain)
    likelihood, tags, marginals, gradient = everything(scores, chain.tags)
    kwargs = {"rtol": 1e-5, "atol": 1e-5}
    expected = brute_force.log_likelihood(chain)
    assert_close(likelihood, expected, **kwargs)
    assert_equal(tags, brute_force.best_tags(chain))
    there, expected = (
        brute_force.expected_counts(chain, chosen)[0]
        for chosen in (chain.tags, None)
    )
    assert_close(marginals, expected, **kwargs)
    assert_close(np.sum(gradient, axis=2), there - expected, **kwargs)
