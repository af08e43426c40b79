"""The programs of docs/ecosystem.md, each where its package is installed."""

import numpy as np
import pytest
from doc_snippets import read_blocks
from doc_snippets import run_blocks

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
def test_scikit_learn(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (module,) = read_blocks("docs/ecosystem.md", "python sklearn_class")
    (tmp_path / "elmo_vectors.py").write_text(module)
    vectors = run("sklearn")["classifier"][0].transform(["Another .", None])
    assert capsys.readouterr().out == "(3,)\n[1 0]\n"
    expected = embed("Another .", "average").mean(axis=0)
    np.testing.assert_allclose(vectors, [expected, 0 * expected], atol=1e-5)


def test_datasets(capsys):
    found = run("datasets")["dataset"].with_format("numpy")[1]["vectors"]
    assert capsys.readouterr().out == "(3, 512)\n"
    np.testing.assert_allclose(found, embed("Another ."), atol=1e-5)
