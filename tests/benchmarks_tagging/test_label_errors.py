"""`benchmarks/label_errors.py`: the labels that it makes wrong."""

from collections import Counter

import pytest

from keras_elmo.crf.tags import entities

TAGGED = (
    "Ann/B-P Lee/I-P met/O Bo/B-P in/O Rome/B-L ./O",
    "The/O cat/O and/O the/O dog/O like/O Oslo/B-L ./O",
)
ROWS = [zip(*(x.split("/") for x in row.split())) for row in TAGGED]
ROWS = [(list(words), list(tags)) for words, tags in ROWS] * 20


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["L", "P"])
def test_entities(program, kind):
    rows = [(x, [tag.replace("L", kind) for tag in tags]) for x, tags in ROWS]
    changed, wrong = program("label_errors").change(rows, "BIO", 0.2)
    kinds = Counter(kind for *_, kind in wrong)
    assert kinds == dict.fromkeys(("dropped", "type", "moved", "invented"), 4)
    places = set()
    for i, (old, new) in enumerate(zip(rows, changed)):
        assert old[0] == new[0] and len(old[0]) == len(new[1])
        for start, end, _ in {*entities(old[1])} ^ {*entities(new[1])}:
            own = {
                x for x in wrong if x[0] == i and x[1] <= start < end <= x[2]
            }
            assert own
            places |= own
    assert places == {*wrong}


def test_words(program):
    changed, wrong = program("label_errors").change(ROWS, None, 0.05)
    assert len(wrong) == 15
    different = {
        (i, k, k + 1, "type")
        for i, (old, new) in enumerate(zip(ROWS, changed))
        for k, pair in enumerate(zip(old[1], new[1]))
        if len({*pair}) > 1
    }
    assert different == {*wrong}
