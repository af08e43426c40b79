"""`benchmarks/tagging/rivals.py`, with workers and vectors that are made up."""

import contextlib
import importlib
import json
import sys
import types

import numpy as np
import pytest
from benchmarks_tagging.tagging_data import write_conllu
from benchmarks_tagging.tagging_data import write_files
from conftest import ROOT

from keras_elmo import Tagger
from keras_elmo.tagging import training
from keras_elmo.text import read_conll

ARGUMENTS = ["--data", "data", "--text", "text"]
JOBS = ["vectors", "ewt-keras-elmo", "ewt-word2vec", "ewt-spaCy", "ewt-UDPipe",
        "wnut-keras-elmo", "wnut-word2vec", "wnut-spaCy"]  # fmt: skip


@pytest.fixture
def rivals(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("rivals")


@pytest.fixture
def calls(rivals, monkeypatch):
    """Workers that only record their calls, a list of pairs."""
    made = []

    def call(name, request, **arguments):
        made.append((name, request))
        if request == "time":
            return 2.0 * len(made)
        costs = {"megabytes": 5, "minutes": 1.25, "processor_minutes": 2}
        return {**costs, "words": 1000, "test": {"accuracy": 0.9, "f1": 0.5}}

    @contextlib.contextmanager
    def start(job, request):
        name = job.folder.rpartition("/")[2]
        yield types.SimpleNamespace(
            call=lambda *args, **kwargs: call(name, *args, **kwargs)
        )

    monkeypatch.setattr(rivals, "start", start)
    monkeypatch.setitem(rivals.PACKAGES, "packages", ("keras",))
    monkeypatch.setitem(rivals.PACKAGES, "transformer", ("keras",))
    return made


def run(rivals, monkeypatch, folder, *arguments, group="packages"):
    output = ["--output", str(folder / "rivals.json")]
    arguments = [group, str(folder), *ARGUMENTS, *output, *arguments]
    monkeypatch.setattr(sys, "argv", ["rivals.py", *arguments])
    rivals.main()


def test_only_what_is_missing_is_trained(
    rivals, calls, monkeypatch, tmp_path, capsys
):
    run(rivals, monkeypatch, tmp_path)
    assert calls == [(name, "train") for name in JOBS]
    assert "| UDPipe | 90.00 | 0 | 5.0 | 1.2 | 2.0 |" in capsys.readouterr().out
    calls.clear()
    (tmp_path / "wnut-spaCy.json").unlink()
    run(rivals, monkeypatch, tmp_path)
    assert calls == [("wnut-spaCy", "train")]
    calls.clear()
    run(rivals, monkeypatch, tmp_path, group="transformer")
    assert calls[0] == ("GloVe vectors", "train")
    # Six taggers for four tasks, but keras-elmo of two is there.
    assert len({*calls}) == len(calls) == 1 + 4 * 6 * 3 - 2 - 2
    assert ("ncbi-GloVe-3", "train") in calls
    assert ("ewt-MiniLM, fine-tuned-2", "train") not in calls
    results = json.loads((tmp_path / "rivals.json").read_text())
    task = results["tasks"]["ewt125"]
    assert task["taggers"]["keras-elmo and GloVe"]["seeds"] == [0.9, 0.9, 0.9]


def test_speeds_are_measured_in_turns(
    rivals, calls, monkeypatch, tmp_path, capsys
):
    pytest.importorskip("matplotlib.pyplot")
    run(rivals, monkeypatch, tmp_path)
    calls.clear()
    output, picture = tmp_path / "rivals.json", tmp_path / "rivals.svg"
    run(
        *(rivals, monkeypatch, tmp_path),
        *("--turns", "3", "--picture", str(picture)),
    )
    names = JOBS[1:5]
    expected = [
        *((x, "load") for x in names),
        *((x, "time") for x in 3 * names),
    ]
    assert calls[:16] == expected
    results = json.loads(output.read_text())
    taggers = results["tasks"]["ewt"]["taggers"]
    assert taggers["keras-elmo"]["seconds"] == [10, 18, 26]
    assert str(tmp_path) not in output.read_text()
    # 1,000 words in 18 s, and in 22 s.
    printed = capsys.readouterr().out
    assert "| UD English EWT | accuracy | words/s | MB |" in printed
    assert "| keras-elmo | 90.00 | 56 | 5.0 | 1.2 | 2.0 |" in printed
    assert "| spaCy | 90.00 | 45 |" in printed
    assert "| WNUT 2017 | f1 |" in printed and "| spaCy | 50.00 |" in printed
    drawn = picture.read_text()
    for text in ("keras-elmo", "spaCy", "WNUT 2017", "words per second"):
        assert f">{text}</text>" in drawn


@pytest.mark.parametrize("task", ["ewt", "wnut"])
def test_documents_of_spacy_keep_words_and_tags(rivals, task):
    spacy = pytest.importorskip("spacy")
    words = ["New", "York", "Rome", "ca", "n't", "a b", ":)"]
    tags = {
        "ewt": ["PROPN", "PROPN", "PROPN", "AUX", "PART", "X", "SYM"],
        "wnut": ["B-loc", "I-loc", "B-loc", "O", "O", "B-per", "O"],
    }
    doc = rivals.make_doc(spacy.blank("en").vocab, words, tags[task], task)
    assert [token.text for token in doc] == words
    assert rivals.read_doc(doc, task) == tags[task]
    assert doc.has_unknown_spaces  # Or it would train on its own tokens.


@pytest.mark.exhaustive
def test_a_tagger_on_vectors_of_words(rivals, monkeypatch, tmp_path):
    rng = np.random.default_rng(1)
    known = "ann", "bob", "Lee", "met", "saw", "left", "Rome", "Oslo"
    # So that it is put back.
    monkeypatch.setattr(training, "ElmoEmbedder", training.ElmoEmbedder)
    small = {"units": 12, "dropout": 0.1, "learning_rate": 0.02, "epochs": 8}
    for name, value in small.items():
        monkeypatch.setitem(Tagger.train.__kwdefaults__, name, value)
    write_files(tmp_path, write_conllu, "conllu")
    (tmp_path / "vectors").mkdir()
    (tmp_path / "ewt-word2vec").mkdir()
    lines = (f"{x} {' '.join(map(str, rng.normal(size=16)))}\n" for x in known)
    (tmp_path / "vectors" / "vectors.txt").write_text("".join(lines))
    data, folder = f"{tmp_path}/{{}}.conllu", f"{tmp_path}/ewt-word2vec"
    job = rivals.Job("word2vec", "ewt", data, folder, 1)
    calls = rivals.Calls()
    result = calls.train(job)
    assert result["test"]["accuracy"] > 0.8
    size = (tmp_path / "ewt-word2vec" / "tagger.keras").stat().st_size
    assert result["megabytes"] == size / 1e6
    assert result["processor_minutes"] > 0
    _, tags = read_conll(data.format("test"))
    assert result["words"] == sum(map(len, tags))
    calls.load(job)
    assert calls.time() > 0
