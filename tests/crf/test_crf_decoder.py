import brute_force_crf as brute_force
import keras
import numpy as np
import pytest
from comparisons import assert_close
from comparisons import assert_equal
from keras import ops
from keras.ops import convert_to_numpy as as_numpy

from keras_elmo import CRF
from keras_elmo import CRFDecoder
from keras_elmo.crf.tags import allowed_tags

MASK = [[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
BIO = ["O", "B-X", "I-X"]


def scores_of(chain):
    layer = CRF(len(chain.start))
    layer.build((None, None, len(chain.start)))
    layer.set_weights([chain.transitions, chain.start, chain.end])
    return layer(chain.potentials, mask=chain.mask)


def test_tags_and_marginals():
    chain = brute_force.random_chain(MASK, 3)
    scores = scores_of(chain)
    tags = CRFDecoder()(scores)
    best = brute_force.best_tags(chain)
    assert_equal(tags, best)
    tags, marginals = CRFDecoder(return_marginals=True)(scores)
    assert_equal(tags, best)
    assert_close(marginals, brute_force.expected_counts(chain)[0])


def test_entities():
    chain = brute_force.random_chain(MASK, 3)
    scores, options = scores_of(chain), {"tag_names": BIO, "scheme": "BIO"}
    layer = CRFDecoder(return_marginals=True, return_entities=True, **options)
    tags, marginals, probabilities, lengths = map(as_numpy, layer(scores))
    expected = CRFDecoder(return_marginals=True, **options)(scores)
    assert_equal(tags, expected[0])
    assert_equal(marginals, expected[1])
    assert lengths.dtype == "int32" and lengths.max() > 1
    # The tags of BIO say where an entity begins.
    assert_equal(lengths > 0, tags == 1)
    assert np.all(probabilities <= marginals[..., 1] + 1e-6)
    alone = CRFDecoder(return_entities=True, **options)
    for x, y in zip(alone(scores), [tags, probabilities, lengths], strict=True):
        assert_equal(x, y)
    assert alone.compute_output_shape((2, None, 4, 3)) == [(2, None)] * 3
    twin = CRFDecoder.from_config(layer.get_config())
    assert_equal(twin(scores)[2], probabilities)


@pytest.mark.parametrize("names", [None, ["O", "NOUN", "VERB"]])
def test_entities_need_labels_that_mark_them(names):
    with pytest.raises(ValueError, match="`tag_names` that mark entities"):
        CRFDecoder(return_entities=True, tag_names=names)


def test_a_scheme_constrains_decoding_alone():
    chain = brute_force.random_chain(np.ones((30, 6)), 3)
    scores = scores_of(chain)
    allowed = allowed_tags(BIO, "BIO")

    def is_allowed(tags):
        return allowed.start[tags[:, 0]] & np.all(
            allowed.transitions[tags[:, :-1], tags[:, 1:]], axis=1
        )

    free, kept = (
        ops.convert_to_numpy(CRFDecoder(tag_names=BIO, scheme=scheme)(scores))
        for scheme in (None, "BIO")
    )
    assert np.all(is_allowed(kept))
    assert not np.all(is_allowed(free))
    # Sequences that are allowed anyway do not change.
    both = is_allowed(free)
    assert_equal(kept[both], free[both])


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_scores_are_not_rounded(policy):
    # Half precision cannot distinguish these two potentials.
    potentials = np.array([[[100.0, 100.01]]], "float32")
    scores = CRF(2, dtype=policy)(potentials)
    tags, marginals = CRFDecoder(return_marginals=True, dtype=policy)(scores)
    assert ops.convert_to_numpy(tags) == 1
    assert keras.backend.standardize_dtype(marginals.dtype) == "float32"
    assert ops.convert_to_numpy(marginals)[0, 0, 1] > 0.501


def test_bad_inputs_are_named():
    for shape in ((2, 4, 3), (2, 4, 3, 3)):
        inputs = np.zeros(shape, "float32")
        with pytest.raises(ValueError, match="scores that a CRF layer returns"):
            CRFDecoder()(inputs)
    scores = CRF(4)(np.zeros((1, 2, 4), "float32"))
    with pytest.raises(ValueError, match="must be 4 different strings"):
        CRFDecoder(tag_names=BIO)(scores)
    with pytest.raises(ValueError, match="`scheme` needs `tag_names`"):
        CRFDecoder(scheme="BIO")
