"""`benchmarks/occurrences.py`, on a few sentences."""

import importlib
import json
import sys

import numpy as np
import pytest
from conftest import ROOT
from small_models import make_elmo

SENTENCES = [
    ("the/DET work/NOUN ./PUNCT", "they/PRON work/VERB ./PUNCT"),
    ("the/DET work/NOUN ./PUNCT", "our/PRON work/NOUN work/ADJ"),
    ("no/DET word/NOUN", "we/PRON Work/VERB and/CONJ work/VERB"),
]


@pytest.fixture
def occurrences(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("occurrences")


def test_occurrences_are_drawn(occurrences, monkeypatch, tmp_path):
    reason = "matplotlib, of the extra `benchmarks`, is not installed."
    plt = pytest.importorskip("matplotlib.pyplot", reason=reason)
    elmo = make_elmo()
    elmo.save_to_bilm(tmp_path / "options.json", tmp_path / "weights.hdf5")
    paths = [tmp_path / f"{part}.conllu" for part in "abc"]
    for path, part in zip(paths, SENTENCES, strict=True):
        path.write_text("\n".join(map(to_conllu, part)))
    picture, output = tmp_path / "map.png", tmp_path / "map.json"
    arguments = ["work", *paths, "--model", tmp_path]
    arguments += ["--picture", picture, "--output", output]
    monkeypatch.setattr(sys, "argv", ["", *map(str, arguments)])
    occurrences.main()
    found = json.loads(output.read_text())
    # A repeated sentence counts once, and other tags and forms do not count.
    assert (found["sentences"], found["counts"]) == (4, {"NOUN": 2, "VERB": 2})
    without_context, *others = found["nearest_has_same_tag"]
    assert without_context is None
    assert len(others) == 2 and all(0 <= share <= 1 for share in others)
    assert plt.imread(picture)[..., :3].std() > 0.02


def test_tags_that_the_vectors_do_not_follow_show(occurrences):
    generator = np.random.default_rng(0)
    vectors = unit(generator.normal(size=(400, 8)))
    tags = np.array(["NOUN", "VERB"])[generator.integers(0, 2, 400)]
    assert 0.4 < occurrences.share_of_same(vectors, tags) < 0.6
    vectors[:, 0] = np.where(tags == "NOUN", 10, -10)
    assert occurrences.share_of_same(unit(vectors), tags) == 1


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def to_conllu(sentence):
    rows = [word.split("/") for word in sentence.split()]
    lines = [
        "\t".join([str(number), word, "_", tag, *"______"])
        for number, (word, tag) in enumerate(rows, start=1)
    ]
    return "\n".join(["# text", *lines, ""])
