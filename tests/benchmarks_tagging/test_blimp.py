"""`benchmarks/blimp.py`, on a few pairs."""

import json

import numpy as np
import pytest

# The right and the wrong sentence of a pair, in turns.
PARADIGMS = {
    "a": ("one", [["x"], ["y"], ["x"], ["new"]]),
    "b": ("two", [["x", "x"], ["y", "y"], ["z"], ["x"]]),
    "c": ("two", [["new"], ["x"], ["y"], ["new"]]),
}


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
        assert program("blimp").tokenized(sentence) == words.split()


def test_scores(program):
    found = program("blimp").evaluate(Model(), PARADIGMS)
    assert found["unknown_words"] == pytest.approx(100 * 3 / 14)
    names = ["known", "forward", "forward_known", "sum", "sum_known"]
    for scores, expected in [
        (found["paradigms"]["a"], [50, 100, 100, 100, 100]),
        (found["paradigms"]["b"], [100, 50, 50, 100, 100]),
        (found["paradigms"]["c"], [0, 50, None, 50, None]),
        # The mean of b and c, where c has no pair that counts.
        (found["phenomena"]["two"], [50, 50, 50, 75, 100]),
    ]:
        assert [scores[name] for name in names] == expected
    assert found["all"]["forward"] == pytest.approx(200 / 3)


def test_incomplete_data_are_refused(program, tmp_path):
    pair = dict.fromkeys(
        ["sentence_good", "sentence_bad", "linguistics_term"], "A."
    )
    (tmp_path / "a.jsonl").write_text(2 * (json.dumps(pair) + "\n"))
    with pytest.raises(SystemExit, match="67,000 pairs, not 2"):
        program("blimp").read_paradigms(tmp_path)
