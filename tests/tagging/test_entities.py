"""The entities of sentences, against the sums over all sequences of tags."""

import brute_force_crf as brute_force
import keras
import numpy as np
import pytest

from keras_elmo import CRF
from keras_elmo import CRFDecoder
from keras_elmo.crf.tags import allowed_tags
from keras_elmo.crf.tags import entities
from keras_elmo.crf.tags import entity_tags
from keras_elmo.crf.tags import find_scheme
from keras_elmo.tagging.entities import EntityModel
from keras_elmo.tagging.sentence_model import SentenceModel

LENGTHS = [4, 2, 1, 0, 3]


@pytest.mark.parametrize("names", brute_force.SCHEMES, ids=" ".join)
@pytest.mark.parametrize("threshold", [0.01, 0.5])
def test_all_spans_that_reach_a_threshold(names, threshold):
    mask = np.arange(4) < np.array(LENGTHS)[:, None]
    chain = brute_force.random_chain(mask, len(names), 1.0)
    longer = chain.transitions + 2 * entity_tags(names).continues
    chain = chain._replace(transitions=longer.astype("float32"))
    crf = CRF(len(names))
    potentials = keras.Input((None, len(names)))
    scores = crf(potentials, mask=potentials[..., 0] != 0)
    crf.set_weights([chain.transitions, chain.start, chain.end])
    scheme = find_scheme(names)
    tags = CRFDecoder(tag_names=names)(scores)

    def pad(batch):
        x = np.zeros((len(batch), max(map(len, batch)), len(names)), "float32")
        for row, vectors in zip(x, batch):
            row[: len(vectors)] = vectors
        return x

    model = keras.Model(potentials, tags)
    model = SentenceModel(model, tags, pad, len(names))
    model = EntityModel(model, tags, names, scheme)
    sentences = [[*x[:n]] for x, n in zip(chain.potentials, LENGTHS)]
    found = [([], [])] * len(LENGTHS)
    for i, spans, row in model.find(sentences, threshold, batch_size=3):
        found[i] = row, spans
    chain = brute_force.constrained(chain, allowed_tags(names, scheme))
    every = brute_force.span_probabilities(chain, names)
    count = 0
    for length, (tags, spans), all_spans in zip(
        LENGTHS, found, every, strict=True
    ):
        expected, free = {}, set(range(length))
        for (start, last, kind), share in all_spans.most_common():
            words = {*range(start, last + 1)}
            if share >= threshold and words <= free:
                free -= words
                expected[start, last + 1, kind] = share
        assert {x[:3]: x[3] for x in spans} == pytest.approx(expected, abs=1e-6)
        assert entities(tags) == [x[:3] for x in spans]
        assert spans == sorted(spans) and len(tags) == length
        count += len(spans)
    assert count > 0
