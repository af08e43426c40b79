"""`benchmarks/tagging/rivals.py`, with workers and vectors that are made up."""

import contextlib
import functools
import json
import pathlib
import sys
import types

import numpy as np
import pytest
from benchmarks_tagging.tagging_data import to_conllu
from benchmarks_tagging.tagging_data import write_files

from keras_elmo import Tagger
from keras_elmo.tagging import training
from keras_elmo.text import read_conll

JOBS = ["vectors", "ewt-keras-elmo", "ewt-word2vec", "ewt-spaCy", "ewt-UDPipe",
        "wnut-keras-elmo", "wnut-word2vec", "wnut-spaCy"]  # fmt: skip


@pytest.fixture
def rivals(program, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return program("rivals")


@pytest.fixture
def run(rivals, monkeypatch):
    """Runs the program; returns its results, and the calls of its workers."""
    calls = []

    def call(name, request, **arguments):
        calls.append((name, request))
        if request == "time":
            return 2.0 * len(calls)
        costs = {"megabytes": 5, "minutes": 1.25, "processor_minutes": 2}
        return {**costs, "words": 1000, "test": {"accuracy": 0.9, "f1": 0.5}}

    @contextlib.contextmanager
    def start(job, request):
        name = job.folder.rpartition("/")[2]
        yield types.SimpleNamespace(call=functools.partial(call, name))

    monkeypatch.setattr(rivals, "start", start)
    for group in rivals.PACKAGES:
        monkeypatch.setitem(rivals.PACKAGES, group, ("keras",))

    def run(group, *arguments):
        calls.clear()
        files = ["--data", "data", "--text", "text", "--output", "output.json"]
        command = ["rivals.py", group, ".", *files, *arguments]
        monkeypatch.setattr(sys, "argv", command)
        rivals.main()
        results = json.loads(pathlib.Path("output.json").read_text())
        return results["tasks"], calls

    return run


def test_only_what_is_missing_is_trained(run, capsys):
    _, calls = run("packages")
    assert calls == [(name, "train") for name in JOBS]
    assert "| UDPipe | 90.00 | 0 | 5.0 | 1.2 | 2.0 |" in capsys.readouterr().out
    pathlib.Path("wnut-spaCy.json").unlink()
    _, calls = run("packages")
    assert calls == [("wnut-spaCy", "train")]
    tasks, calls = run("transformer")
    assert calls[0] == ("GloVe vectors", "train")
    # Six taggers: three tasks with three seeds, and EWT with one. keras-elmo of
    # two tasks is there.
    assert len({*calls}) == len(calls) == 1 + 3 * 6 * 3 + 6 - 2
    assert ("ncbi-GloVe-3", "train") in calls
    assert ("ewt-MiniLM, fine-tuned-2", "train") not in calls
    taggers = tasks["ewt125"]["taggers"]
    assert taggers["keras-elmo and GloVe"]["seeds"] == [0.9, 0.9, 0.9]


def test_speeds_are_measured_in_turns(run, capsys):
    run("packages")
    tasks, calls = run("packages", "--turns", "3")
    names = JOBS[1:5]
    loads, times = ([(x, y) for x in names] for y in ("load", "time"))
    assert calls[:16] == [*loads, *times, *times, *times]
    seconds = tasks["ewt"]["taggers"]["keras-elmo"]["seconds"]
    assert seconds == [10, 18, 26]
    # 1,000 words in 18 s.
    printed = capsys.readouterr().out
    assert "| UD English EWT | accuracy | words/s | MB |" in printed
    assert "| keras-elmo | 90.00 | 56 | 5.0 | 1.2 | 2.0 |" in printed
    assert "| WNUT 2017 | f1 |" in printed and "| spaCy | 50.00 |" in printed


def test_documents_of_spacy_keep_words_and_tags(rivals):
    vocab = pytest.importorskip("spacy").blank("en").vocab
    words = ["New", "York", "Rome", "ca", "n't", "a b", ":)"]
    for task, tags in {
        "ewt": ["PROPN", "PROPN", "PROPN", "AUX", "PART", "X", "SYM"],
        "wnut": ["B-loc", "I-loc", "B-loc", "O", "O", "B-per", "O"],
    }.items():
        doc = rivals.make_doc(vocab, words, tags, task)
        assert [token.text for token in doc] == words
        assert rivals.read_doc(doc, task) == tags
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
    write_files(tmp_path, to_conllu)
    for folder in ("vectors", "ewt-word2vec"):
        (tmp_path / folder).mkdir()
    lines = (f"{x} {' '.join(map(str, rng.normal(size=16)))}\n" for x in known)
    (tmp_path / "vectors" / "vectors.txt").write_text("".join(lines))
    data, folder = f"{tmp_path}/{{}}.conllu", f"{tmp_path}/ewt-word2vec"
    job = rivals.Job("word2vec", "ewt", data, folder, 1)
    calls = rivals.Calls()
    result = calls.train(job)
    assert result["test"]["accuracy"] > 0.8
    size = (tmp_path / "ewt-word2vec" / "tagger.keras").stat().st_size
    assert result["megabytes"] == size / 1e6
    _, tags = read_conll(data.format("test"))
    assert result["words"] == sum(map(len, tags))
    calls.load(job)
    assert calls.time() > 0
