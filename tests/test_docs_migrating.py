"""The code of docs/migrating, compared with results of other packages."""

import json
import pathlib
import runpy
import shutil

import h5py
import keras
import numpy as np
import pytest
from comparisons import assert_close
from conftest import ON_TENSORFLOW
from conftest import ROOT
from doc_snippets import read_blocks
from doc_snippets import run_blocks

import keras_elmo

pytestmark = ON_TENSORFLOW
REFERENCE = ROOT / "tests/reference/allennlp"
SENTENCES = [["First", "sentence", "."], ["Another", "."]]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, portable_path):
    """Runs tests in a folder with the files that the pages mention."""
    monkeypatch.chdir(tmp_path)
    pathlib.Path("folder_or_zip").mkdir()
    for name, copies in {
        "options.json": ["options.json", "folder_or_zip/options.json"],
        "lm_weights.hdf5": ["weights.hdf5", "folder_or_zip/model.hdf5"],
        "vocab_test.txt": ["vocab.txt", "folder_or_zip/vocab.txt"],
    }.items():
        for copy in copies:
            shutil.copy(REFERENCE / name, copy)


def layers_of(sentences):
    elmo = keras_elmo.ElmoLayer.from_bilm("options.json", "weights.hdf5")
    ids = keras_elmo.batch_to_ids(sentences)
    return keras.ops.convert_to_numpy(elmo.all_layers(ids))


@pytest.mark.exhaustive
def test_allennlp():
    names = run_blocks(read_blocks("docs/migrating/allennlp.md"))
    expected = layers_of(SENTENCES)
    assert_close(names["first"], expected.mean(axis=1))
    assert_close(names["second"], expected.mean(axis=1))
    assert_close(names["activations"], expected)
    assert names["mask"].tolist() == [[1, 1, 1], [1, 1, 0]]
    sentences = json.loads((REFERENCE / "sentences.json").read_text())[0]
    found = [*names["embed_batches"](([s.split()] for s in sentences), 1)]
    with h5py.File(REFERENCE / "lm_embeddings_0.hdf5") as stored:
        assert len(found) == len(stored)
        for i, layers in enumerate(found):
            assert_close(layers[-1], np.concatenate(stored[str(i)], axis=-1))


@pytest.mark.exhaustive
def test_bilm_tf():
    names = run_blocks(read_blocks("docs/migrating/tensorflow-1.md")[2:])
    expected = layers_of(SENTENCES).mean(axis=1)
    for vectors in names["vectors"]:
        assert_close(vectors, expected)
    with h5py.File(REFERENCE / "elmo_token_embeddings.hdf5") as stored:
        assert_close(names["rows"], stored["embedding"])


@pytest.mark.exhaustive
def test_hub():
    names = run_blocks(read_blocks("docs/migrating/tensorflow-1.md")[:2])
    model, sentences = names["model"], names["sentences"]
    assert_close(model(sentences), model(sentences[:, 0]))
    assert model.trainable_variables[0].path.startswith("elmo_layer")
    assert np.isfinite(model.history.history["loss"]).all()


@pytest.mark.exhaustive
def test_simple_elmo_and_seqvec():
    simple_elmo, _, seqvec = read_blocks("docs/migrating/index.md")
    names = run_blocks([simple_elmo, seqvec])
    vectors = layers_of(SENTENCES).mean(axis=1)[1, :2]
    assert_close(names["vectors"][1], vectors)
    mean = vectors.mean(axis=0)
    assert_close(names["means"][1], mean / np.linalg.norm(mean))
    residues = layers_of([list("SEQWENCE")])[0].sum(axis=0)
    assert_close(names["residues"], residues)
    assert_close(names["protein"], residues.mean(axis=0))


@pytest.mark.exhaustive
def test_elmo_for_many_langs(shared):
    many_langs = shared / "reference/elmo_for_many_langs/char_and_word"
    shutil.copytree(many_langs, "zhs.model")
    names = run_blocks(read_blocks("docs/migrating/index.md")[1:2])
    assert [x.shape for x in names["vectors"]] == [(6, 32)]


def test_a_fasta_file(capsys):
    path = pathlib.Path("proteins.fasta")
    path.write_text(
        "\ufeff>sp|P1|ONE some protein\nSEQ\nW-enCE*\n\n>two\nPXUZ OB\n>none\n",
        encoding="utf-8",
    )
    program = runpy.run_path(str(ROOT / "examples/embed_fasta.py"))
    arguments = ["folder_or_zip", "proteins.fasta", "proteins.h5"]
    program["main"](arguments)
    assert capsys.readouterr().out == "3 proteins in proteins.h5\n"
    proteins = {"sp|P1|ONE": "SEQWENCE", "two": "PXUZOB", "none": ""}
    with h5py.File("proteins.h5") as file:
        assert set(file["residues"]) == set(file["mean"]) == set(proteins)
        for name, residues in proteins.items():
            expected = np.zeros((0, 32))
            if residues:
                expected = layers_of([list(residues)])[0].sum(axis=0)
            mean = expected.sum(axis=0) / max(len(residues), 1)
            assert_close(file["residues"][name][()], expected)
            assert_close(file["mean"][name][()], mean)
    for text, told in [
        (">one\nSEQ\n>\nPX\n", "No '>name' before"),
        ("", "No protein at the end of 'proteins.fasta'"),
    ]:
        path.write_text(text)
        with pytest.raises(ValueError, match=told):
            program["main"](arguments)
