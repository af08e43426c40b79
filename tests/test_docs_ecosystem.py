"""The programs of docs/ecosystem.md, each where its package is installed."""

import shutil

import numpy as np
import pytest
from conftest import ROOT
from doc_snippets import read_blocks
from doc_snippets import run_blocks
from small_models import make_elmo

import keras_elmo


def run(package):
    """Runs the program for a package; returns its names."""
    pytest.importorskip(package, reason=f"{package} is optional.")
    blocks = read_blocks("docs/ecosystem.md", f"python {package}")
    assert len(blocks) == 1
    return run_blocks(blocks, {"__name__": "page"})


def embed(text, layers="top"):
    embedder = keras_elmo.ElmoEmbedder.from_preset(
        "english_mini", layers=layers
    )
    return embedder.embed_sentence(text.split())


@pytest.mark.exhaustive
def test_spacy(capsys):
    names = run("spacy")
    assert capsys.readouterr().out == "(14, 512)\n0.59\n"
    empty, doc = names["nlp"].pipe(["", "She has an account. Hello"])
    assert len(empty) == 0
    expected = [embed("She has an account ."), embed("Hello")]
    np.testing.assert_allclose(doc.tensor, np.concatenate(expected), atol=1e-5)


@pytest.mark.exhaustive
def test_scikit_learn(capsys):
    vectors = run("sklearn")["classifier"][0].transform(["Another ."])
    assert capsys.readouterr().out == "[1 0]\n"
    expected = embed("Another .", "average").mean(axis=0)
    np.testing.assert_allclose(vectors, [expected], atol=1e-5)


def test_datasets(capsys):
    found = run("datasets")["dataset"].with_format("numpy")[1]["vectors"]
    assert capsys.readouterr().out == "(3, 512)\n"
    np.testing.assert_allclose(found, embed("Another ."), atol=1e-5)


@pytest.mark.exhaustive
def test_the_hub(tmp_path, monkeypatch):
    reason = "huggingface_hub is optional."
    hub = pytest.importorskip("huggingface_hub", reason=reason)

    def create_repo(repo_id, exist_ok):
        pass

    def upload_folder(*, repo_id, folder_path):
        shutil.copytree(folder_path, tmp_path / "hub" / repo_id)

    def snapshot_download(repo_id, revision):
        return str(tmp_path / "hub" / repo_id)

    for stand_in in (create_repo, upload_folder, snapshot_download):
        monkeypatch.setattr(hub, stand_in.__name__, stand_in)
    monkeypatch.chdir(tmp_path)
    elmo, folder = make_elmo(), tmp_path / "my_elmo"
    folder.mkdir()
    elmo.save_to_bilm(folder / "options.json", folder / "weights.hdf5")
    shutil.copy(ROOT / "examples/model_card.md", tmp_path)
    loaded = run("huggingface_hub")["elmo"]
    ids = keras_elmo.batch_to_ids([["Another", "."]], 12)
    np.testing.assert_array_equal(loaded.all_layers(ids), elmo.all_layers(ids))
    card = hub.ModelCard.load("hub/user/my_elmo/README.md")
    assert card.data.library_name == "keras-elmo"
