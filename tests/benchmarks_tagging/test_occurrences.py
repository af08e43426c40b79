"""`benchmarks/occurrences.py`, on a few sentences."""

import numpy as np
import pytest
from benchmarks_tagging.tagging_data import to_conllu
from benchmarks_tagging.tagging_data import write_bilm

SENTENCES = [
    ("the/DET work/NOUN ./PUNCT", "they/PRON work/VERB ./PUNCT"),
    ("the/DET work/NOUN ./PUNCT", "our/PRON work/NOUN work/ADJ"),
    ("no/DET word/NOUN", "we/PRON Work/VERB and/CONJ work/VERB"),
]


def test_occurrences_are_drawn(run, tmp_path):
    reason = "matplotlib, of the extra `benchmarks`, is not installed."
    plt = pytest.importorskip("matplotlib.pyplot", reason=reason)
    write_bilm(tmp_path / "bilm")
    paths = [tmp_path / f"{name}.conllu" for name in "abc"]
    for path, part in zip(paths, SENTENCES, strict=True):
        pairs = [[x.split("/") for x in row.split()] for row in part]
        rows = [[(word, "", tag) for word, tag in row] for row in pairs]
        path.write_text("".join(map(to_conllu, rows)))
    options = ["--model", "bilm", "--picture", "map.png"]
    found = run("occurrences", "work", *paths, *options)
    # A repeated sentence counts once, and other tags and forms do not count.
    assert (found["sentences"], found["counts"]) == (4, {"NOUN": 2, "VERB": 2})
    without_context, *others = found["nearest_has_same_tag"]
    assert without_context is None and len(others) == 2
    assert plt.imread("map.png")[..., :3].std() > 0.02


def test_tags_that_the_vectors_do_not_follow_show(program):
    share = program("occurrences").share_of_same
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(400, 8))
    tags = np.array(["NOUN", "VERB"])[generator.integers(0, 2, 400)]
    assert 0.4 < share(unit(vectors), tags) < 0.6
    vectors[:, 0] = np.where(tags == "NOUN", 10, -10)
    assert share(unit(vectors), tags) == 1


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
