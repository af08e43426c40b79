"""The decoding of a CRF in ONNX, against sums over all sequences of tags."""

import brute_force_crf as brute_force
import numpy as np
import pytest
from onnx_sessions import answer
from onnx_sessions import open_session

from keras_elmo import CRFDecoder
from keras_elmo.crf.tags import allowed_tags
from keras_elmo.onnx import crf_decoding
from keras_elmo.onnx.graph_builder import GraphBuilder

MASK = np.arange(4) < np.array([4, 2, 1, 0, 3])[:, None]


def onnx_answer(chain, layer):
    graph = GraphBuilder()
    weights = (np.maximum(x, np.float32(-1e30)) for x in chain[3:])
    parts = crf_decoding.CRFScores("potentials", *weights)
    found = crf_decoding.decode(
        graph, crf_decoding.constrained(parts, layer), layer, "mask", "length"
    )
    shapes = {
        "potentials": ("float32", ["b", "t", len(chain.start)]),
        "mask": ("float32", ["b", "t", 1]),
        "length": ("int64", ["b", 1]),
    }
    outputs = {
        f"{i}": (value, "float32", ["b", "t", "n"])
        for i, value in enumerate(found)
    }
    model = graph.model("crf", shapes, outputs).SerializeToString()
    inputs = {
        "potentials": chain.potentials,
        "mask": np.float32(chain.mask[..., None]),
        "length": chain.mask.sum(axis=1, keepdims=True),
    }
    return answer(open_session(model), **inputs).values()


@pytest.mark.parametrize("names", brute_force.SCHEMES, ids=" ".join)
@pytest.mark.parametrize(("offset", "limit"), [(0, 3e-7), (1e4, 5e-3)])
def test_tags_marginals_and_entities(names, offset, limit):
    layer = CRFDecoder(
        return_marginals=True, return_entities=True, tag_names=names
    )
    chain = brute_force.entity_chain(MASK, names)
    chain = chain._replace(potentials=chain.potentials + np.float32(offset))
    chain.potentials[:, 1, 1] = -np.inf  # A state without probability.
    tags, marginals, shares, lengths = onnx_answer(chain, layer)
    chain = brute_force.constrained(chain, allowed_tags(names, layer.scheme))
    best = brute_force.best_tags(chain)
    np.testing.assert_array_equal(tags[..., 0] * MASK, best)
    counts = brute_force.expected_counts(chain)[0]
    np.testing.assert_allclose(marginals, counts, rtol=0, atol=limit)
    expected = brute_force.best_entities(chain, names)
    np.testing.assert_allclose(shares[..., 0], expected[0], rtol=0, atol=limit)
    np.testing.assert_array_equal(lengths[..., 0], expected[1])
