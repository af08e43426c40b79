"""Labels that are probably wrong."""

import itertools
from unittest import mock

import keras
import numpy as np
import pytest
from small_models import make_elmo

from keras_elmo import check_labels
from keras_elmo.crf.tags import mark_entities
from keras_elmo.tagging import label_checks
from keras_elmo.tagging import training
from keras_elmo.tagging.label_checks import _Tagging

pytestmark = [
    pytest.mark.skipif(
        keras.backend.backend() != "tensorflow",
        reason="Slow, and the same on all backends.",
    ),
    # Most trainings here are short.
    pytest.mark.filterwarnings("ignore:The best val_"),
    pytest.mark.usefixtures("portable_path", "built_optimizers"),
]
NAMES = ["Ann", "Bo", "Cy", "Dee", "Eve", "Flo"]
PLACES = ["Rome", "Lima", "Oslo", "Bern", "Bonn", "Graz"]
VERBS = ["lives", "works", "is"]


def make_data():
    """Sentences, their tags, and an empty one between them."""
    sentences, tags = [], []
    for verb in VERBS:
        for name in NAMES:
            for place in PLACES:
                sentences.append([name, place, verb, "in", place, "."])
                tags.append(["B-PER", "I-PER", "O", "O", "B-LOC", "O"])
    sentences.insert(1, [])
    tags.insert(1, [])
    return sentences, tags


@pytest.fixture(scope="module")
def elmo(tmp_path_factory):
    path = tmp_path_factory.mktemp("elmo") / "small"
    make_elmo().save_to_preset(path)
    return path


def check(elmo, sentences, tags, **options):
    keras.utils.set_random_seed(1)
    options = {"folds": 2, "epochs": 25, "verbose": 0, **options}
    return check_labels(sentences, tags, elmo, **options)


def test_wrong_labels_of_entities(elmo, capsys):
    sentences, tags = make_data()
    tags[20] = ["B-PER", "I-PER", "O", "O", "O", "O"]
    tags[40] = ["B-PER", "O", "O", "O", "B-LOC", "O"]
    tags[60] = ["B-LOC", "I-LOC", "O", "O", "B-LOC", "O"]
    tags[80] = ["B-PER", "I-PER", "O", "B-LOC", "B-LOC", "O"]
    given = map(iter, sentences), map(iter, tags)
    found = check(elmo, *given, verbose=2)
    assert capsys.readouterr().out.count("Fold ") == 2
    places = {(x.sentence, x.start, x.end, x.kind) for x in found[:4]}
    assert places == {
        (20, 4, 5, "missing"),
        (40, 0, 2, "edge"),
        (60, 0, 2, "type"),
        (80, 3, 4, "unlikely"),
    }
    for x in found:
        assert x.labels == tags[x.sentence][x.start : x.end]
        assert 0 <= x.probability < x.suggested_probability <= 1
        assert x.probability + x.suggested_probability <= 1 + 1e-6
    right = {x.sentence: x.suggested for x in found}
    assert right[40] == right[60] == ["B-PER", "I-PER"]
    assert (right[20], right[80]) == (["B-LOC"], ["O"])


@pytest.mark.exhaustive
def test_wrong_labels_of_words(elmo):
    sentences, tags = make_data()
    tags = [[x[-1] for x in row] for row in tags]
    tags[7][3], tags[70][4] = "C", "R"
    found = check(elmo, sentences, tags)
    places = {(*x[:4], x.labels[0], x.suggested[0]) for x in found[:2]}
    assert places == {
        (7, 3, 4, "label", "C", "O"),
        (70, 4, 5, "label", "R", "C"),
    }
    shares = [x.probability for x in found]
    assert shares == sorted(shares)


def test_equal_sentences_are_in_the_same_fold():
    words = [["a"], ["b", "c"], ["d"], ["e"], ["f"], ["g"]]
    pairs = [(x, x) for x in words * 3]
    folds = label_checks.split(pairs, 3)
    assert sorted(itertools.chain(*folds)) == [*range(18)]
    for fold in folds:
        assert len(fold) == 6 and len({i % 6 for i in fold}) == 2
        assert {len(pairs[i][0]) for i in fold[:-3]} == {1}  # Sorted by length.
    assert folds != label_checks.split(pairs, 3)


def tagging(text, *shares):
    spans = [x.split(":") for x in text.split()]
    spans = [(int(a), int(b), kind) for a, b, kind in spans]
    own = np.full(6, 0.5)
    step, longer = np.full(6, 0.5), np.zeros(6)
    return _Tagging(mark_entities(spans, 6, "BIOES"), own, step, longer)


@pytest.mark.parametrize(
    ("given", "found", "expected"),
    [
        ("0:2:X 3:4:Y", "0:2:X 3:4:Y", []),
        ("0:2:X", "", [(0, 2, "unlikely")]),
        ("", "0:2:X 2:3:X", [(0, 2, "missing"), (2, 3, "missing")]),
        ("0:2:X 4:5:Y", "0:2:Y 4:5:Y", [(0, 2, "type")]),
        ("0:2:X", "1:2:X", [(0, 2, "edge")]),
        ("0:2:X", "1:4:Y", [(0, 4, "edge")]),
        ("0:4:X", "0:1:X 2:4:X", [(0, 4, "edge")]),  # Once.
        ("0:1:X 2:4:X", "1:3:X", [(0, 1, "unlikely"), (1, 4, "edge")]),
        ("0:2:X 3:5:X", "1:4:X 5:6:X", [(0, 5, "edge"), (5, 6, "missing")]),
    ],
)
def test_each_entity_is_in_one_place(given, found, expected):
    both = tagging(given), tagging(found)
    assert [*label_checks._differences(*both, "BIOES")] == expected


def test_an_interrupted_check_returns_what_is_known(elmo, monkeypatch):
    sentences, tags = make_data()
    given, found = tagging("0:2:X"), tagging("")
    found.own[:] = found.step[:] = 1
    number = 108 // 3

    def interrupt_after(folds):
        train = mock.Mock(side_effect=[None] * folds + [KeyboardInterrupt])
        monkeypatch.setattr(label_checks, "train_fold", train)

    monkeypatch.setattr(
        label_checks, "_both_taggings", lambda *_: [(given, found)] * number
    )
    interrupt_after(2)
    told = "72 of 108 sentences are checked, those of 2 of 3 folds"
    with pytest.warns(UserWarning, match=f"The check was interrupted. {told}"):
        issues = check(elmo, sentences, tags, folds=3)
    assert len({x.sentence for x in issues}) == 72
    assert (issues[0].probability, issues[0].kind) == (0.25, "unlikely")
    interrupt_after(0)
    with pytest.raises(KeyboardInterrupt):
        check(elmo, sentences, tags)


def test_a_training_that_is_interrupted_is_not_used(elmo, monkeypatch):
    best = mock.Mock(is_interrupted=True)
    monkeypatch.setattr(training, "fit_head", lambda *_, **__: best)
    with pytest.raises(KeyboardInterrupt):
        check(elmo, *make_data())


@pytest.mark.parametrize(
    ("number", "options", "told"),
    [
        (30, {"folds": 1}, "`folds` must be an integer of at least 2"),
        (30, {"epochs": 0}, "`epochs` must be"),
        (
            6,
            {"folds": 3},
            "`folds=3` needs at least 6 diff.*: 5",
        ),
        (30, {"max_labels": 2}, "at most 2 labels"),
    ],
)
def test_bad_arguments(elmo, number, options, told):
    data = (x[:number] for x in make_data())
    with pytest.raises(ValueError, match=told):
        check(elmo, *data, **options)
