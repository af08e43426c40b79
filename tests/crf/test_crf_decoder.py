import brute_force_crf as brute_force
import numpy as np
import pytest
from comparisons import assert_close
from comparisons import assert_equal
from crf.crf_layers import BIO
from crf.crf_layers import MASK
from crf.crf_layers import scores_of
from keras.ops import convert_to_numpy as as_numpy

from keras_elmo import CRFDecoder
from keras_elmo.crf.linear_chain import best_tags
from keras_elmo.crf.linear_chain import constrain
from keras_elmo.crf.linear_chain import entity_probabilities
from keras_elmo.crf.tags import allowed_tags
from keras_elmo.crf.tags import entity_tags


def test_tags_marginals_and_entities():
    chain = brute_force.random_chain(MASK, 3)
    scores = scores_of(chain)
    assert_equal(CRFDecoder()(scores), brute_force.best_tags(chain))
    # Entities are those of the labels' scheme.
    options = {"return_entities": True, "tag_names": BIO}
    chain = brute_force.constrained(chain, allowed_tags(BIO, "BIO"))
    scores, best = scores_of(chain), brute_force.best_tags(chain)
    layer = CRFDecoder(return_marginals=True, **options)
    tags, marginals, *entities = map(as_numpy, layer(scores))
    assert_equal(tags, best)
    assert_close(marginals, brute_force.expected_counts(chain)[0])
    expected = entity_probabilities(scores, best, entity_tags(BIO))
    alone = CRFDecoder(**options)
    for twin in (alone, CRFDecoder.from_config(alone.get_config())):
        assert twin.scheme == "BIO"
        found, *others = map(as_numpy, twin(scores))
        assert_equal(found, best)
        for x, y, z in zip(others, entities, expected, strict=True):
            assert_equal(x, y)
            assert_close(x, z)
    assert others[1].dtype == "int32" and others[1].max() > 1
    assert alone.compute_output_shape((2, None, 4, 3)) == [(2, None)] * 3


def test_a_scheme_constrains_decoding_alone():
    names = {"tag_names": BIO}
    scores = scores_of(brute_force.random_chain(np.ones((30, 6)), 3))
    free, kept, default = (
        as_numpy(CRFDecoder(**options)(scores))
        for options in ({}, {**names, "scheme": "BIO"}, names)
    )
    assert_equal(free, best_tags(scores))
    assert_equal(kept, best_tags(constrain(scores, *allowed_tags(BIO, "BIO"))))
    assert_equal(default, kept)
    assert np.any(free != kept)


@pytest.mark.parametrize(
    ("options", "shape", "message"),
    [
        ({}, (2, 4, 3), "scores that a CRF layer returns"),
        ({"tag_names": BIO}, (1, 2, 5, 4), "must be 4 different strings"),
        ({"return_entities": True}, None, "`tag_names` that mark entities"),
        (
            {"return_entities": True, "tag_names": ["O", "NOUN"]},
            None,
            "that mark entities.*NOUN",
        ),
        (
            {"return_entities": True, "tag_names": ["O", "I-X"]},
            None,
            "In IO and IOB1.*'I-X'",
        ),
    ],
)
def test_bad_arguments_are_named(options, shape, message):
    with pytest.raises(ValueError, match=message):
        CRFDecoder(**options)(np.zeros(shape, "float32"))
