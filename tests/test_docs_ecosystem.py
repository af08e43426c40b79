"""The programs of docs/ecosystem.md, each where its package is installed."""

import pathlib
import shutil

import keras
import numpy as np
import pytest
from conftest import ROOT
from doc_snippets import read_blocks
from doc_snippets import run_blocks
from small_models import make_elmo

import keras_elmo

PAGE = "docs/ecosystem.md"


def run(package, capsys):
    """Runs the program for a package; returns its names and its output."""
    pytest.importorskip(package, reason=f"{package} is optional.")
    (block,) = read_blocks(PAGE, f"python {package}")
    names = run_blocks([block], {"__name__": "page"})
    return names, capsys.readouterr().out


def embed(text, layers):
    embedder = keras_elmo.ElmoEmbedder.from_preset(
        "english_mini", layers=layers
    )
    return embedder.embed_sentence(text.split())


def test_spacy(capsys):
    names, printed = run("spacy", capsys)
    assert printed == "(14, 512)\n0.62\n"
    empty, doc = names["nlp"].pipe(["", "She has an account. Hello"])
    assert len(empty) == 0
    first = embed("She has an account .", "top")
    expected = np.concatenate([first, embed("Hello", "top")])
    np.testing.assert_allclose(doc.tensor, expected, atol=1e-5)
    np.testing.assert_array_equal(doc[2].vector, doc.tensor[2])


def test_scikit_learn(capsys):
    names, printed = run("sklearn", capsys)
    assert printed == "[1 0]\n"
    vectors = names["classifier"][0].transform(["Another ."])
    expected = embed("Another .", "average").mean(axis=0)
    np.testing.assert_allclose(vectors, [expected], atol=1e-5)


def test_datasets(capsys):
    names, printed = run("datasets", capsys)
    assert printed == "(3, 512)\n"
    found = names["dataset"].with_format("numpy")[1]["vectors"]
    np.testing.assert_allclose(found, embed("Another .", "top"), atol=1e-5)


def test_the_hub(tmp_path, monkeypatch, capsys):
    reason = "huggingface_hub is optional."
    hub = pytest.importorskip("huggingface_hub", reason=reason)
    remote = tmp_path / "hub"

    def snapshot_download(repo_id, *, revision):
        return str(remote / repo_id)

    def create_repo(repo_id, *, exist_ok):
        (remote / repo_id).mkdir(parents=True, exist_ok=exist_ok)

    def upload_folder(*, repo_id, folder_path):
        shutil.copytree(folder_path, remote / repo_id, dirs_exist_ok=True)

    for stand_in in (snapshot_download, create_repo, upload_folder):
        monkeypatch.setattr(hub, stand_in.__name__, stand_in)
    monkeypatch.chdir(tmp_path)
    pathlib.Path("my_elmo").mkdir()
    elmo = make_elmo()
    elmo.save_to_bilm("my_elmo/options.json", "my_elmo/weights.hdf5")
    shutil.copy(ROOT / "examples/model_card.md", tmp_path)
    names, _ = run("huggingface_hub", capsys)
    ids = keras_elmo.batch_to_ids([["Another", "."]], 12)
    found, expected = (
        keras.ops.convert_to_numpy(layer.all_layers(ids))
        for layer in (names["elmo"], elmo)
    )
    np.testing.assert_array_equal(found, expected)
    card = hub.ModelCard.load(remote / "user/my_elmo/README.md")
    assert card.data.library_name == "keras-elmo"
