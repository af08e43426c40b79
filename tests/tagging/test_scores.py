"""Scores of taggers."""

import random

import pytest

from keras_elmo.crf.tags import to_scheme
from keras_elmo.tagging.scores import score_tags
from keras_elmo.tagging.scores import tagged_pairs

BIO = ["O", "B-X", "I-X", "B-Y", "I-Y"]
BIOES = [*BIO, "E-X", "S-X", "E-Y", "S-Y"]


@pytest.mark.parametrize("labels", [BIO, BIOES])
def test_entities_are_scored_as_by_seqeval(labels):
    metrics = pytest.importorskip("seqeval.metrics", reason="It is optional.")
    generator = random.Random(1)
    tags = [
        generator.choices(labels, k=generator.randrange(1, 9))
        for _ in range(200)
    ]
    found = [[x if generator.random() < 0.7 else "O" for x in t] for t in tags]
    scores = score_tags(tags, found, "BIO")
    expected = metrics.classification_report(tags, found, output_dict=True)
    for ours, theirs in (
        (
            {key: scores[key] for key in scores["types"]["X"]},
            expected["micro avg"],
        ),
        (scores["types"]["X"], expected["X"]),
        (scores["types"]["Y"], expected["Y"]),
    ):
        theirs |= {"f1": theirs["f1-score"], "count": theirs["support"]}
        assert ours == {key: pytest.approx(theirs[key]) for key in ours}
    accuracy = metrics.accuracy_score(tags, found)
    assert scores["accuracy"] == pytest.approx(accuracy)


def test_labels_of_no_scheme():
    scores = score_tags([["A", "B"], ["A"]], [["A", "A"], ["C"]])
    assert scores == {
        "accuracy": 1 / 3,
        "types": {
            "A": {"precision": 0.5, "recall": 0.5, "f1": 0.5, "count": 2},
            "B": {"precision": 0.0, "recall": 0.0, "f1": 0.0, "count": 1},
            "C": {"precision": 0.0, "recall": 0.0, "f1": 0.0, "count": 0},
        },
    }
    assert score_tags([], [], "BIO")["f1"] == 0.0
    with pytest.raises(ValueError):
        score_tags([["A"]], [["A", "A"]])


def test_pairs_are_checked():
    pairs = tagged_pairs([["a", "b"], [], ("c",)], [["X", "O"], [], "Y"], None)
    assert pairs == [(["a", "b"], ["X", "O"]), (["c"], ["Y"])]
    pairs = tagged_pairs([["a", "b"]], [["I-X", "I-X"]], "BIO")
    assert pairs == [(["a", "b"], ["B-X", "I-X"])]
    for words, tags, message in [
        ([["a"]], [["X", "Y"]], r"sentence 0, of 1 words: \['X', 'Y'\]"),
        ([["a"], ["b"]], [["X"], [1]], r"sentence 1, of 1 words: \[1\]"),
        (["a b"], [["X"]], "must be a list of words"),
        ([["a"]], [], "Received: 0 lists for 1 sentences"),
    ]:
        with pytest.raises(ValueError, match=message):
            tagged_pairs(words, tags, None)


def test_tags_in_a_scheme():
    wrong = ["I-X", "I-X", "B-X", "O", "I-Y", "I-X", "E-X", "U-Y"]
    assert to_scheme(wrong, "BIO") == (
        ["B-X", "I-X", "B-X", "O", "B-Y", "B-X", "I-X", "B-Y"]
    )
    assert to_scheme(wrong, "BIOES") == (
        ["B-X", "E-X", "S-X", "O", "S-Y", "B-X", "E-X", "S-Y"]
    )
    assert to_scheme(["B-X", "I-X", "I-X"], "BIOUL") == ["B-X", "I-X", "L-X"]
