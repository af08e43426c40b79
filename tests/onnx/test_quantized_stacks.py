"""The embedder with 8-bit weights."""

import functools
import pickle
import sys

import numpy as np
import pytest
from onnx_sessions import answer
from onnx_sessions import open_session
from small_models import ENGLISH_TINY
from small_models import make_elmo

from keras_elmo import ElmoEmbedder
from keras_elmo import ElmoLayer
from keras_elmo.onnx import products
from keras_elmo.onnx import quantized_stacks
from keras_elmo.onnx.graph_builder import GraphBuilder


def relative_error(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


@pytest.fixture(scope="module")
def trained():
    return ElmoLayer.from_preset(ENGLISH_TINY)


def test_a_trained_models_layers_change_by_one_percent(shared, trained):
    lines = (shared / "data/english_lm/heldout.txt").read_text().splitlines()
    sentences = [line.split() for line in lines[:64]]
    plain = ElmoEmbedder(trained).embed_batch(sentences)
    found = ElmoEmbedder(trained, quantize="int8").embed_batch(sentences)
    plain, found = (np.concatenate(x, axis=1) for x in (plain, found))
    # Layer 0 has no LSTM.
    np.testing.assert_allclose(found[0], plain[0], atol=1e-5)
    for layer in (1, 2):
        assert 0.001 < relative_error(found[layer], plain[layer]) < 0.011


def run(make, x, kernel, **kwargs):
    """Returns the product, or its parts side by side."""
    graph, kind = GraphBuilder(), ("float32", ["rows", x.shape[1]])
    found = make(graph, kernel, **kwargs)(graph, "x")
    parts = [found] if isinstance(found, str) else found
    sizes = ["rows", kernel.shape[1] // len(parts)]
    outputs = {str(i): (y, "float32", sizes) for i, y in enumerate(parts)}
    model = graph.model("product", {"x": kind}, outputs)
    found = answer(open_session(model.SerializeToString()), x=x)
    return np.concatenate([*found.values()], axis=1)


@pytest.mark.parametrize(
    "make, factor",
    [
        (functools.partial(products.column_product, is_signed=False), 0.3),
        (products.block_product, 0.8),
    ],
)
def test_precise_products(make, factor):
    """Of features that are large where the kernel is small."""
    generator = np.random.default_rng(0)
    sizes = np.exp(generator.normal(size=256)).astype("float32")
    x = generator.normal(size=(16, 256)).astype("float32") / sizes
    kernel = generator.normal(size=(256, 32)).astype("float32") * sizes[:, None]
    rough, precise = (
        relative_error(run(make, x, kernel, is_precise=is_precise), x @ kernel)
        for is_precise in (False, True)
    )
    assert precise < factor * rough


def test_parts_of_a_product():
    x = np.random.default_rng(0).normal(size=(3, 8)).astype("float32")
    kernel = np.random.default_rng(1).normal(size=(8, 12)).astype("float32")
    make = functools.partial(products.column_product, is_signed=False)
    found = run(make, x, kernel, parts=4)
    np.testing.assert_array_equal(found, run(make, x, kernel))


def test_a_sentence_gets_the_same_vectors_in_any_company(trained):
    embedder = ElmoEmbedder(trained, layers="top", quantize="int8")
    sentences = [["One", "."], [], ["A", "longer", "one", "!"], ["Two"]] * 3
    together = embedder.embed_batch(sentences)
    for sentence, vectors in zip(sentences, together):
        np.testing.assert_allclose(
            vectors, embedder.embed_sentence(sentence), rtol=1e-4, atol=1e-4
        )


@pytest.mark.parametrize(
    ("lstm", "has_vnni"),
    [
        ({"projection_dim": None, "units": 6, "num_layers": 3}, True),
        ({"use_skip_connections": False}, False),
    ],
)
def test_stacks_of_all_kinds(monkeypatch, lstm, has_vnni):
    if not has_vnni:  # Then unsigned weights never saturate.
        monkeypatch.setattr(quantized_stacks, "_saturates", lambda: True)
    elmo = make_elmo(lstm=lstm)
    sentences = [["a", "b", "c"], [], ["d"]]
    plain = ElmoEmbedder(elmo).embed_batch(sentences)
    found = ElmoEmbedder(elmo, quantize="int8").embed_batch(sentences)
    for one, other in zip(found, plain, strict=True):
        np.testing.assert_allclose(one, other, atol=0.02)


def test_it_can_be_copied():
    embedder = ElmoEmbedder(make_elmo(), layers="top", quantize="int8")
    copied = pickle.loads(pickle.dumps(embedder))
    assert copied.quantize == "int8"
    np.testing.assert_array_equal(
        copied.embed_sentence(["a", "b"]), embedder.embed_sentence(["a", "b"])
    )


def test_threads_are_those_of_tensorflow(monkeypatch):
    import tensorflow as tf

    name = "get_intra_op_parallelism_threads"
    monkeypatch.setattr(tf.config.threading, name, lambda: 1)
    stacks = quantized_stacks.QuantizedStacks(make_elmo().encoder)
    options = stacks._session.get_session_options()
    assert options.intra_op_num_threads == 1


def test_what_it_needs(monkeypatch):
    elmo = make_elmo()
    with pytest.raises(ValueError, match=r"`quantize`.*Received: 'float16'"):
        ElmoEmbedder(elmo, quantize="float16")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.delitem(sys.modules, quantized_stacks.__name__)
    with pytest.raises(ImportError, match="pip install onnx onnxruntime"):
        ElmoEmbedder(elmo, quantize="int8")
