import brute_force_crf as brute_force
import keras
import numpy as np
import pytest
from comparisons import assert_close
from comparisons import assert_equal
from crf.crf_layers import BIO
from crf.crf_layers import MASK
from crf.crf_layers import scores_of
from keras.ops import convert_to_numpy as as_numpy

from keras_elmo import CRF
from keras_elmo import CRFDecoder
from keras_elmo.crf.tags import allowed_tags


def test_tags_and_marginals():
    chain = brute_force.random_chain(MASK, 3)
    scores = scores_of(chain)
    best = brute_force.best_tags(chain)
    assert_equal(CRFDecoder()(scores), best)
    tags, marginals = CRFDecoder(return_marginals=True)(scores)
    assert_equal(tags, best)
    assert_close(marginals, brute_force.expected_counts(chain)[0])


def test_entities():
    scores = scores_of(brute_force.random_chain(MASK, 3))
    options = {"tag_names": BIO, "scheme": "BIO"}
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
    for twin in (alone, CRFDecoder.from_config(alone.get_config())):
        found = twin(scores)
        for x, y in zip(found, [tags, probabilities, lengths], strict=True):
            assert_equal(x, y)
    assert alone.compute_output_shape((2, None, 4, 3)) == [(2, None)] * 3


def test_a_scheme_constrains_decoding_alone():
    scores = scores_of(brute_force.random_chain(np.ones((30, 6)), 3))
    allowed = allowed_tags(BIO, "BIO")

    def is_allowed(tags):
        return allowed.start[tags[:, 0]] & np.all(
            allowed.transitions[tags[:, :-1], tags[:, 1:]], axis=1
        )

    free, kept = (
        as_numpy(CRFDecoder(tag_names=BIO, scheme=scheme)(scores))
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
    assert as_numpy(tags) == 1
    assert keras.backend.standardize_dtype(marginals.dtype) == "float32"
    assert as_numpy(marginals)[0, 0, 1] > 0.501


@pytest.mark.parametrize(
    ("options", "shape", "message"),
    [
        ({}, (2, 4, 3), "scores that a CRF layer returns"),
        ({}, (2, 4, 3, 3), "scores that a CRF layer returns"),
        ({"tag_names": BIO}, (1, 2, 5, 4), "must be 4 different strings"),
        ({"scheme": "BIO"}, None, "`scheme` needs `tag_names`"),
        ({"return_entities": True}, None, "`tag_names` that mark entities"),
        (
            {"return_entities": True, "tag_names": ["O", "NOUN", "VERB"]},
            None,
            "`tag_names` that mark entities.*NOUN",
        ),
    ],
)
def test_bad_arguments_are_named(options, shape, message):
    with pytest.raises(ValueError, match=message):
        CRFDecoder(**options)(np.zeros(shape, "float32"))
