import random

import pytest
from evaluation import accuracy_scores
from evaluation import entity_scores

BIO = ["O", "B-a", "I-a", "B-b-c", "I-b-c"]
BIOES = [*BIO, "E-a", "S-a", "E-b-c", "S-b-c"]


def random_sentences(names, seed, number=300):
    generator = random.Random(seed)
    return [
        generator.choices(names, k=1 + i % 9) for i in range(number)
    ]  # Most of them violate the scheme.


@pytest.mark.parametrize("names", [BIO, BIOES])
def test_as_seqeval_counts(names):
    reason = "seqeval is not installed."
    pytest.importorskip("seqeval", reason=reason)
    from seqeval.metrics import classification_report

    gold = random_sentences(names, 1)
    predicted = [
        truth if i % 3 else guess
        for i, (truth, guess) in enumerate(
            zip(gold, random_sentences(names, 2))
        )
    ]
    scores = entity_scores(gold, predicted)
    expected = classification_report(gold, predicted, output_dict=True)
    assert 0.3 < scores["f1"] < 0.9
    pairs = [(scores, expected["micro avg"])]
    pairs += [(scores["types"][kind], expected[kind]) for kind in ("a", "b-c")]
    for found, values in pairs:
        assert found["precision"] == pytest.approx(values["precision"])
        assert found["recall"] == pytest.approx(values["recall"])
        assert found["f1"] == pytest.approx(values["f1-score"])
        assert found["entities"] == values["support"]


def test_without_entities():
    scores = entity_scores([["O"]], [["O"]])
    assert scores["f1"] == 0 and scores["types"] == {}


def test_accuracy():
    scores = accuracy_scores([["X", "Y"], ["X"]], [["X", "X"], ["Z"]])
    assert scores["accuracy"] == pytest.approx(1 / 3)
    assert scores["types"]["X"] == {"accuracy": 0.5, "words": 2}
    assert scores["types"]["Y"] == {"accuracy": 0.0, "words": 1}
