"""`benchmarks/blimp.py`, on a few pairs."""

import importlib
import json

import numpy as np
import pytest
from conftest import ROOT

# The right and the wrong sentence of a pair, in turns.
PARADIGMS = {
    "a": ("one", [["x"], ["y"], ["x"], ["new"]]),
    "b": ("two", [["x", "x"], ["y", "y"], ["z"], ["x"]]),
    "c": ("two", [["new"], ["x"], ["y"], ["new"]]),
}


@pytest.fixture
def program(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("blimp")


class Model:
    """The forward direction prefers x, then y; the backward one prefers z."""

    words = ("<S>", "</S>", "<UNK>", "x", "y", "z")
    logs = {"x": (-1, -5), "y": (-2, -5), "new": (-3, -5), "z": (-4, -0.5)}

    def log_probabilities(self, sentences):
        return np.array(
            [np.sum([self.logs[w] for w in s], 0) for s in sentences]
        )


def test_words_are_split_as_in_the_treebank(program):
    for sentence, words in {
        "Kim can't help Ann's sons.": "Kim ca n't help Ann 's sons .",
        "Who wasn't the girls' ex-wife?": "Who was n't the girls ' ex-wife ?",
        "It's here.": "It 's here .",
    }.items():
        assert program.tokenized(sentence) == words.split()


def test_scores(program):
    found = program.evaluate(Model(), PARADIGMS)
    assert found["unknown_words"] == pytest.approx(100 * 3 / 14)
    assert found["paradigms"] == {
        "a": {
            "phenomenon": "one",
            "known": 50,
            "forward": 100,
            "forward_known": 100,
            "sum": 100,
            "sum_known": 100,
        },
        "b": {
            "phenomenon": "two",
            "known": 100,
            "forward": 50,
            "forward_known": 50,
            "sum": 100,
            "sum_known": 100,
        },
        "c": {
            "phenomenon": "two",
            "known": 0,
            "forward": 50,
            "forward_known": None,
            "sum": 50,
            "sum_known": None,
        },
    }
    # The mean of b and c, where c has no pair that counts.
    assert found["phenomena"]["two"] == {
        "known": 50,
        "forward": 50,
        "forward_known": 50,
        "sum": 75,
        "sum_known": 100,
    }
    assert found["phenomena"].keys() == {"one", "two"}
    assert found["all"]["forward"] == pytest.approx(200 / 3)


def test_incomplete_data_are_refused(program, tmp_path):
    pair = {
        "sentence_good": "A.",
        "sentence_bad": "B.",
        "linguistics_term": "one",
    }
    (tmp_path / "a.jsonl").write_text(2 * (json.dumps(pair) + "\n"))
    with pytest.raises(SystemExit, match="67,000 pairs, not 2"):
        program.read_paradigms(tmp_path)
