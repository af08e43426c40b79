import itertools
import json
import pickle

import h5py
import keras
import numpy as np
import pytest
from keras import ops
from small_models import make_elmo
from small_models import randomize
from tiers import quick_first

from keras_elmo import ElmoEmbedder
from keras_elmo import ScalarMix
from keras_elmo import batch_to_ids

# Each embedder would build graphs of its own.
pytestmark = pytest.mark.in_graphs(False)
BACKEND = keras.backend.backend()
SENTENCES = [
    ["The", "cat", "sat", "."],
    [],
    ["Another", "sentence", ",", "a", "longer", "one", "this", "time", "!"],
    ["cat"],
    ["<S>", "é", "日本", "a-word-longer-than-its-room", ""],
    ["The", "cat", "sat", "."],
]


@pytest.fixture(scope="module")
def elmo():
    return make_elmo()


def expected_layers(elmo, sentence):
    """Returns the layer's own output for a single sentence."""
    width = elmo.token_encoder.max_characters_per_token
    ids = batch_to_ids([sentence], width)
    return ops.convert_to_numpy(elmo.all_layers(ids))[0]


def check(elmo, found, sentence, pick=lambda layers: layers):
    assert found.dtype == "float32"
    expected = pick(expected_layers(elmo, sentence))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-6)


def check_each(elmo, vectors, *pick):
    for sentence, found in zip(SENTENCES, vectors, strict=True):
        check(elmo, found, sentence, *pick)


@pytest.mark.in_graphs(True)
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("batch_tokens", quick_first([12, 1, 16384]))
def test_equals_the_layer_on_each_sentence_alone(elmo, batch_tokens):
    embedder = ElmoEmbedder(elmo, batch_tokens=batch_tokens)
    check_each(elmo, list(embedder.embed_sentences(SENTENCES)))


@pytest.mark.slow_on_jax
def test_layers_are_chosen(elmo):
    for layers, pick in [
        ([2, 0], lambda x: x[[2, 0]]),
        ("top", lambda x: x[-1]),
        ("average", lambda x: x.mean(axis=0)),
        ("sum", lambda x: x.sum(axis=0)),
        (0, lambda x: x[0]),
    ]:
        embedder = ElmoEmbedder(elmo, layers=layers)
        check_each(elmo, embedder.embed_batch(SENTENCES), pick)


def test_the_learned_mix():
    elmo = make_elmo(scalar_mix=ScalarMix())
    weights, gamma = elmo.scalar_mix.mix_weights
    assert abs(weights - 1 / 3).max() > 0.05
    vectors = ElmoEmbedder(elmo, layers="mix").embed_batch(SENTENCES)
    check_each(elmo, vectors, lambda x: gamma * np.tensordot(weights, x, 1))


@pytest.mark.slow_on_jax
def test_any_iterable_is_read_lazily_and_in_order(elmo):
    read = []

    def sentences():
        for i in itertools.count():
            read.append(i)
            yield iter(["word"] * (i % 4 + 1))

    embedder = ElmoEmbedder(elmo, batch_tokens=30)
    vectors = embedder.embed_sentences(sentences())
    assert read == []
    lengths = [next(vectors).shape[1] for _ in range(50)]
    assert lengths == [i % 4 + 1 for i in range(50)]
    assert len(read) < 50 + 20


def test_what_is_yielded_does_not_hold_the_batch(elmo):
    first, *_ = ElmoEmbedder(elmo).embed_sentences(SENTENCES)
    assert first.base is None or first.base.size == first.size


def test_a_padded_batch(elmo):
    vectors, mask = ElmoEmbedder(elmo).batch_to_embeddings(SENTENCES)
    assert vectors.shape == (6, 3, 9, 12) and mask.shape == (6, 9)
    assert mask.sum(axis=1).tolist() == [len(s) for s in SENTENCES]
    assert not np.moveaxis(vectors, 1, 2)[~mask].any()
    check_each(elmo, [v[:, m] for v, m in zip(vectors, mask)])
    top, _ = ElmoEmbedder(elmo, "top").batch_to_embeddings(SENTENCES)
    np.testing.assert_array_equal(top, vectors[:, -1])


def test_no_sentences(elmo):
    embedder = ElmoEmbedder(elmo)
    assert embedder.embed_batch([]) == []
    vectors, mask = embedder.batch_to_embeddings([])
    assert vectors.shape == (0, 3, 0, 12) and mask.shape == (0, 0)
    top, _ = ElmoEmbedder(elmo, "top").batch_to_embeddings([])
    assert top.shape == (0, 0, 12)


@pytest.mark.parametrize("layers", ["all", "top"])
def test_sentence_vectors_are_means_over_tokens(elmo, layers):
    embedder = ElmoEmbedder(elmo, layers)
    vectors = embedder.embed_sentence_vectors(SENTENCES)
    for sentence, vector in zip(SENTENCES, vectors, strict=True):
        tokens = embedder.embed_sentence(sentence)
        expected = tokens.sum(axis=-2) / max(1, len(sentence))
        np.testing.assert_allclose(vector, expected, rtol=1e-5, atol=1e-6)


def test_long_words_are_known_by_what_counts_of_them(elmo):
    long = ["<S>" + "x" * 50, "<S>" + "x" * 60, "</S>" + "y" * 70, "</S>"]
    check(elmo, ElmoEmbedder(elmo).embed_sentence(long), long)


def watch_runs(elmo, monkeypatch, look):
    """Lists what `look` returns whenever Python code of either part runs."""
    seen = []

    def watch(owner, name):
        function = getattr(owner, name)

        def watched(*args, **kwargs):
            seen.append(look())
            return function(*args, **kwargs)

        monkeypatch.setattr(owner, name, watched)

    watch(elmo.token_encoder, "call")
    watch(elmo.encoder, "get_initial_state")
    return seen


@pytest.mark.skipif(BACKEND != "jax", reason="The others take any shape.")
def test_few_shapes_are_compiled(elmo, monkeypatch):
    runs = watch_runs(elmo, monkeypatch, lambda: 1)
    embedder = ElmoEmbedder(elmo, batch_tokens=600)
    for length in (1, 2, 5, 12, 30):
        embedder.embed_sentence([f"w{i}" for i in range(length)])
    assert len(runs) == 2
    words = [f"w{i}" for i in range(700)] * 2
    corpus = [words[37 * i % 700 :][: i % 40] for i in range(200)]
    for _ in range(2):
        found = embedder.embed_batch(corpus)
        # Sizes are powers of two, and halfway between.
        assert len(runs) <= 2 + 6
    for i in (0, 7, 39, 199):
        alone = embedder.embed_sentence(corpus[i])
        np.testing.assert_allclose(found[i], alone, rtol=1e-5, atol=2e-6)


@pytest.mark.skipif(BACKEND != "torch", reason="The others keep nothing.")
def test_nothing_is_kept_for_gradients(elmo, monkeypatch):
    import torch

    modes = watch_runs(elmo, monkeypatch, torch.is_inference_mode_enabled)
    ElmoEmbedder(elmo).embed_sentence(["cat"])
    assert modes == [True, True]
    assert not torch.is_inference_mode_enabled()


def test_half_precision(elmo):
    half = make_elmo(dtype="mixed_bfloat16")
    vectors = ElmoEmbedder(half).embed_batch(SENTENCES)
    for sentence, found in zip(SENTENCES, vectors):
        expected = expected_layers(elmo, sentence)
        assert found.dtype == "float32"
        difference = np.linalg.norm(found - expected)
        assert difference <= 2e-2 * np.linalg.norm(expected)


def test_weights_that_change_are_read_anew():
    elmo = make_elmo()
    embedder = ElmoEmbedder(elmo)
    before = embedder.embed_sentence(["cat"])
    for layer in elmo.token_encoder, elmo.encoder:
        randomize(layer, deviation=0.3)
    after = embedder.embed_sentence(["cat"])
    assert abs(after - before).max() > 1e-3
    check(elmo, after, ["cat"])


@pytest.mark.in_graphs(True)
def test_copies_embed_the_same(elmo):
    embedder = ElmoEmbedder(elmo, [2, 0], batch_tokens=12)
    expected = embedder.embed_batch(SENTENCES)  # Builds its graphs.
    other = pickle.loads(pickle.dumps(embedder))
    assert (other.layers, other.batch_tokens) == ([2, 0], 12)
    for a, b in zip(other.embed_batch(SENTENCES), expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_from_preset(elmo, tmp_path):
    elmo.save_to_bilm(tmp_path / "options.json", tmp_path / "w.hdf5")
    embedder = ElmoEmbedder.from_preset(tmp_path, layers="top")
    check_each(elmo, embedder.embed_batch(SENTENCES), lambda x: x[-1])
    half = ElmoEmbedder.from_preset(tmp_path, dtype="mixed_bfloat16")
    assert half.elmo.compute_dtype == "bfloat16"


TEXT = "The cat sat .\n\nAnother\tone\n"


@pytest.mark.slow_on_jax
def test_a_file(elmo, tmp_path):
    corpus, output = tmp_path / "corpus.txt", tmp_path / "out.hdf5"
    corpus.write_text(TEXT)
    for source in (corpus, TEXT.split("\n")):
        ElmoEmbedder(elmo).embed_file(source, output, overwrite=True)
        with h5py.File(output) as found:
            numbers = json.loads(found["sentence_to_index"][0])
            assert numbers["Another\tone"] == "2"
            for i, line in enumerate(TEXT.splitlines()):
                check(elmo, found[str(i)][()], line.split())


def test_a_file_in_other_forms(elmo, tmp_path):
    embedder = ElmoEmbedder(elmo)
    output = tmp_path / "out.npz"
    output.write_text("something older")
    source = [TEXT[:13]], output
    with pytest.raises(FileExistsError, match="pass `overwrite=True`"):
        embedder.embed_file(*source)
    for layers, dtype, told in [
        ("all", "int8", "output_dtype"),
        ("best", "float32", "`layers` must be"),
    ]:
        options = {"output_dtype": dtype, "overwrite": True}
        with pytest.raises(ValueError, match=told):
            embedder.embed_file(*source, layers, **options)
    assert output.read_text() == "something older"
    options = {"output_dtype": "float16", "overwrite": True}
    embedder.embed_file(*source, "average", **options)
    expected = expected_layers(elmo, ["The", "cat", "sat", "."]).mean(axis=0)
    with np.load(output) as found:
        assert found["0"].dtype == "float16"
        np.testing.assert_allclose(found["0"], expected, rtol=2e-3, atol=1e-3)
    assert embedder.layers == "all"
    assert embedder.embed_sentence(["cat"]).shape == (3, 1, 12)


class Doubled(ElmoEmbedder):
    def embed_sentences(self, sentences):
        for vectors in super().embed_sentences(sentences):
            yield 2 * vectors


def test_other_layers_of_a_subclass_share_what_is_costly(
    elmo, tmp_path, monkeypatch
):
    pytest.importorskip("onnxruntime")
    from keras_elmo.onnx import quantized_stacks

    embedder = Doubled(elmo, quantize="int8")
    monkeypatch.setattr(quantized_stacks, "QuantizedStacks", None)
    embedder.embed_file(["The cat"], tmp_path / "a.npz", "top")
    with np.load(tmp_path / "a.npz") as found:
        expected = embedder.embed_sentence(["The", "cat"])[-1]
        np.testing.assert_array_equal(found["0"], expected)


@pytest.mark.parametrize("layers", ["best", 3, -1, [], [0, 5], True], ids=str)
def test_unknown_layers_are_refused(elmo, layers):
    with pytest.raises(ValueError, match="`layers` must be"):
        ElmoEmbedder(elmo, layers=layers)


MIX = {"layers": "mix"}


def test_arguments_are_checked():
    for kwargs, options, told in [
        ({"return_all_layers": True}, MIX, "return_all_layers"),
        ({"scalar_mix": ScalarMix(layer_norm=True)}, MIX, "layer_norm"),
        ({"add_sentence_boundaries": False}, {}, "must add the sentence bound"),
        ({}, {"batch_tokens": 0}, "`batch_tokens`"),
        ({}, {"quantize": "int4"}, "`quantize`"),
    ]:
        elmo = make_elmo(**kwargs)
        with pytest.raises(ValueError, match=told):
            ElmoEmbedder(elmo, **options)
    for given in (["english_mini"], ["options.json", "weights.hdf5"]):
        told = r"use `ElmoEmbedder\.from_preset`.*ElmoLayer\.from_bilm"
        with pytest.raises(ValueError, match=told):
            ElmoEmbedder(*given)
    with pytest.raises(ValueError, match="sentence 1: 'a string'"):
        ElmoEmbedder(elmo).embed_batch([["fine"], "a string"])


@pytest.mark.slow_on_jax
def test_a_model_of_elmo_for_many_langs(shared):
    folder = shared / "reference/elmo_for_many_langs/char_and_word"
    embedder = ElmoEmbedder.from_preset(folder)
    odd = ["", "<bos>", "今天" * 40, "今天" * 41, b"\xff", "\0"]
    ids = embedder.elmo.token_encoder.make_vectorization().batch_to_ids([odd])
    expected = ops.convert_to_numpy(embedder.elmo.all_layers(ids))[0]
    found = embedder.embed_sentence(odd)
    np.testing.assert_allclose(found, expected, atol=1e-5)
