"""The code of docs/migrating, compared with results of other packages."""

import json
import pathlib
import runpy
import shutil

import h5py
import keras
import numpy as np
import pytest
from conftest import ROOT
from doc_snippets import read_blocks
from doc_snippets import run_blocks

import keras_elmo

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Strings are TensorFlow's."
)
PAGES = "docs/migrating"
REFERENCE = ROOT / "tests/reference/allennlp"
SENTENCES = [["First", "sentence", "."], ["Another", "."]]
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


@pytest.fixture
def folder(tmp_path, monkeypatch, portable_path):
    """A folder with the files that the page mentions."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(REFERENCE / "options.json", tmp_path)
    shutil.copy(REFERENCE / "lm_weights.hdf5", tmp_path / "weights.hdf5")
    shutil.copy(REFERENCE / "vocab_test.txt", tmp_path / "vocab.txt")
    nlpl = tmp_path / "folder_or_zip"
    nlpl.mkdir()
    shutil.copy(REFERENCE / "options.json", nlpl)
    shutil.copy(REFERENCE / "lm_weights.hdf5", nlpl / "model.hdf5")
    shutil.copy(REFERENCE / "vocab_test.txt", nlpl / "vocab.txt")
    return tmp_path


def blocks_of(page, count):
    """Returns all blocks of a page; there must be `count`."""
    blocks = read_blocks(f"{PAGES}/{page}")
    assert len(blocks) == count
    return blocks


def layers_of(folder, sentences):
    elmo = keras_elmo.ElmoLayer.from_bilm(
        folder / "options.json", folder / "weights.hdf5"
    )
    ids = keras_elmo.batch_to_ids(sentences)
    return keras.ops.convert_to_numpy(elmo.all_layers(ids))


def first_sentence():
    """Returns a sentence, and AllenNLP's top layer for it."""
    text = json.loads((REFERENCE / "sentences.json").read_text())[0][0]
    with h5py.File(REFERENCE / "lm_embeddings_0.hdf5") as stored:
        forward, backward = stored["0"][...]
    return text.split(), np.concatenate([forward, backward], axis=-1)


def test_allennlp(folder):
    names = run_blocks(blocks_of("allennlp.md", 3)[:1])
    assert names["mask"].numpy().tolist() == [[True] * 3, [True, True, False]]
    expected = layers_of(folder, SENTENCES).mean(axis=1)
    np.testing.assert_allclose(names["first"], expected, **CLOSE)
    np.testing.assert_allclose(names["second"], expected, **CLOSE)
    assert names["first"]._keras_mask.numpy().tolist() == [
        [True] * 3,
        [True, True, False],
    ]
    with h5py.File(REFERENCE / "gradients.hdf5") as file:
        ids, stored, mask = (
            file[k][...] for k in ("character_ids", "elmo", "mask")
        )
        found, _ = names["elmo"](ids)
    np.testing.assert_allclose(found, stored * mask[..., None], **CLOSE)


@pytest.mark.exhaustive
def test_allennlp_with_state(folder):
    names = run_blocks(blocks_of("allennlp.md", 3)[:2])
    texts = json.loads((REFERENCE / "sentences.json").read_text())
    found = names["embed_text"](s.split() for s in texts[0])
    with h5py.File(REFERENCE / "lm_embeddings_0.hdf5") as stored:
        for i, layers in enumerate(found):
            forward, backward = stored[str(i)][...]
            expected = np.concatenate([forward, backward], axis=-1)
            np.testing.assert_allclose(layers[-1], expected, **CLOSE)
        assert i + 1 == len(stored) == len(texts[0])


def test_allennlp_frozen_mix(folder):
    mix = keras_elmo.ScalarMix(fixed_weights=[0, 1, 0], trainable=False)
    elmo = keras_elmo.ElmoLayer.from_bilm(
        "options.json", "weights.hdf5", num_representations=2, scalar_mix=mix
    )
    assert elmo.trainable_variables == []
    first, second = elmo(keras_elmo.batch_to_ids(SENTENCES))
    expected = layers_of(folder, SENTENCES)[:, 1]
    np.testing.assert_allclose(first, expected, **CLOSE)
    np.testing.assert_allclose(second, expected, **CLOSE)


@pytest.mark.exhaustive
def test_allennlp_embedder(folder):
    words, expected = first_sentence()
    names = run_blocks(blocks_of("allennlp.md", 3))
    vectors = names["embedder"].embed_sentence(words)
    np.testing.assert_allclose(vectors[-1], expected, **CLOSE)
    layers = layers_of(folder, SENTENCES)
    np.testing.assert_allclose(names["vectors"], layers[1, :, :2], **CLOSE)
    np.testing.assert_allclose(names["activations"], layers, **CLOSE)
    assert names["mask"].tolist() == [[1, 1, 1], [1, 1, 0]]


def test_bilm_tf(folder):
    names = run_blocks(blocks_of("tensorflow-1.md", 4)[2:3])
    expected = layers_of(folder, SENTENCES).mean(axis=1)
    for vectors in names["vectors"]:
        np.testing.assert_allclose(vectors, expected, **CLOSE)
    # The L2 loss is the factor times the sum of the squared weights.
    for mix in names["elmo"].scalar_mixes:
        mix.scalars.assign([1.0, 0.0, -2.0])
    assert sum(map(float, names["model"].losses)) == pytest.approx(0.01)


@pytest.mark.exhaustive
def test_cached_token_vectors(folder):
    names = run_blocks(blocks_of("tensorflow-1.md", 4)[2:])
    with h5py.File(REFERENCE / "elmo_token_embeddings.hdf5") as stored:
        np.testing.assert_allclose(names["rows"], stored["embedding"], **CLOSE)


@pytest.mark.exhaustive
def test_hub(folder):
    build, fit = blocks_of("tensorflow-1.md", 4)[:2]
    names = run_blocks([build])
    model = names["model"]
    elmo = keras_elmo.ElmoLayer.from_preset("english_mini")
    ids = keras_elmo.batch_to_ids([["the", "cat", "sat"], ["dogs", "bark"]])
    vectors = keras.ops.convert_to_numpy(elmo(ids))
    means = [vectors[0].mean(axis=0), vectors[1, :2].mean(axis=0)]
    for layer in model.layers[-2:]:
        means = layer(np.stack(means))
    strings = keras.ops.convert_to_tensor(["the cat sat", "dogs bark"])
    np.testing.assert_allclose(model(strings), means, **CLOSE)
    np.testing.assert_allclose(model(strings[:, None]), means, **CLOSE)
    assert model.trainable_variables[0].path.startswith("elmo_layer")
    run_blocks([fit], names)
    assert np.isfinite(model.history.history["loss"]).all()


@pytest.mark.exhaustive
def test_simple_elmo(folder):
    names = run_blocks(blocks_of("index.md", 3)[:1])
    layers = layers_of(folder, SENTENCES).mean(axis=1)
    np.testing.assert_allclose(names["vectors"][1], layers[1, :2], **CLOSE)
    mean = layers[1, :2].mean(axis=0)
    mean /= np.linalg.norm(mean)
    np.testing.assert_allclose(names["means"][1], mean, **CLOSE)


def test_elmo_for_many_langs(folder, shared):
    many_langs = shared / "reference/elmo_for_many_langs/char_and_word"
    shutil.copytree(many_langs, "zhs.model")
    names = run_blocks(blocks_of("index.md", 3)[1:2])
    assert [x.shape for x in names["vectors"]] == [(6, 32)]
    sentences = json.loads((folder / "zhs.model/sentences.json").read_text())
    with h5py.File(folder / "zhs.model/expected.hdf5") as stored:
        expected = [stored[str(k)][...] for k in range(len(sentences))]
    found = names["embedder"].embed_batch(sentences)
    for vectors, layers in zip(found, expected):
        np.testing.assert_allclose(vectors, layers.mean(axis=0), atol=1e-5)


def test_seqvec(folder):
    names = run_blocks(blocks_of("index.md", 3)[2:])
    layers = layers_of(folder, [list("SEQWENCE")])[0]
    residues = layers.sum(axis=0)
    assert names["residues"].shape == residues.shape == (8, 32)
    np.testing.assert_allclose(names["residues"], residues, **CLOSE)
    np.testing.assert_allclose(names["protein"], residues.mean(0), **CLOSE)


def test_a_fasta_file(folder, capsys):
    (folder / "proteins.fasta").write_text(
        "\ufeff>sp|P1|ONE some protein\nSEQ\nW-enCE*\n\n>two\nPXUZ OB\n>none\n",
        encoding="utf-8",
    )
    names = runpy.run_path(str(ROOT / "examples/embed_fasta.py"))
    names["main"](["folder_or_zip", "proteins.fasta", "proteins.h5"])
    proteins = {"sp|P1|ONE": "SEQWENCE", "two": "PXUZOB", "none": ""}
    assert dict(names["read_fasta"]("proteins.fasta")) == {
        name: list(residues) for name, residues in proteins.items()
    }
    assert capsys.readouterr().out == "3 proteins in proteins.h5\n"
    with h5py.File("proteins.h5") as file:
        assert set(file["residues"]) == set(file["mean"]) == set(proteins)
        per_residue, per_protein = (
            {name: file[kind][name][()] for name in proteins}
            for kind in ("residues", "mean")
        )
    for name, residues in proteins.items():
        assert per_residue[name].shape == (len(residues), 32)
        if residues:
            expected = layers_of(folder, [list(residues)])[0].sum(axis=0)
            np.testing.assert_allclose(per_residue[name], expected, **CLOSE)
            expected = expected.mean(axis=0)
            np.testing.assert_allclose(per_protein[name], expected, **CLOSE)
    assert not per_protein["none"].any()

    for text, told in [
        ("SEQ\n>two\nPX\n", "No '>name' before"),
        (">one\nSEQ\n>\nPX\n", "No '>name' before"),
        ("", "No protein at the end of 'bad.fasta'"),
    ]:
        (folder / "bad.fasta").write_text(text)
        with pytest.raises(ValueError, match=told):
            list(names["read_fasta"]("bad.fasta"))
    (folder / "proteins.fasta").write_text(">one\nSEQ\n>one\nPX\n")
    with pytest.raises((OSError, ValueError), match="name already exists"):
        names["main"](["folder_or_zip", "proteins.fasta", "proteins.h5"])


def test_each_page_is_listed_and_tested():
    pages = {path.name for path in (ROOT / PAGES).glob("*.md")}
    source = pathlib.Path(__file__).read_text(encoding="utf-8")
    index = (ROOT / PAGES / "index.md").read_text(encoding="utf-8")
    assert pages == {"index.md", "allennlp.md", "tensorflow-1.md"}
    for page in pages:
        assert page == "index.md" or f"]({page})" in index
        assert f'blocks_of("{page}"' in source
