import itertools

import pytest
from comparisons import assert_equal

from keras_elmo.crf.tags import allowed_tags
from keras_elmo.crf.tags import check_scheme
from keras_elmo.crf.tags import check_tag_names
from keras_elmo.crf.tags import decoding_scheme
from keras_elmo.crf.tags import entities
from keras_elmo.crf.tags import find_scheme
from keras_elmo.crf.tags import to_scheme


def bio_tags(spans, length):
    tags = ["O"] * length
    for start, end, kind in spans:
        tags[start:end] = [f"I-{kind}"] * (end - start)
        tags[start] = f"B-{kind}"
    return tags


def bioes_tags(spans, length):
    tags = bio_tags(spans, length)
    for start, end, kind in spans:
        tags[end - 1] = f"E-{kind}" if end - start > 1 else f"S-{kind}"
    return tags


def bioul_tags(spans, length):
    letters = str.maketrans("ES", "LU")
    return [tag.translate(letters) for tag in bioes_tags(spans, length)]


SCHEMES = {"BIO": bio_tags, "BIOES": bioes_tags, "BIOUL": bioul_tags}


def span_sets(length, begin=0):
    """Yields all ways to place spans of two kinds in a sentence."""
    yield []
    for start, end in itertools.combinations(range(begin, length + 1), 2):
        for kind, others in itertools.product("XY", span_sets(length, end)):
            yield [(start, end, kind), *others]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("length", [1, 4])
def test_just_the_tags_of_spans_are_allowed(scheme, length):
    letters = sorted({*scheme} - {"O"})
    names = ["O"] + [f"{x}-{kind}" for kind in "XY" for x in letters]
    allowed = allowed_tags(names, scheme)
    expected = {
        tuple(SCHEMES[scheme](spans, length)) for spans in span_sets(length)
    }
    found = {
        tuple(names[tag] for tag in tags)
        for tags in itertools.product(range(len(names)), repeat=length)
        if allowed.start[tags[0]]
        and allowed.end[tags[-1]]
        and all(allowed.transitions[p] for p in itertools.pairwise(tags))
    }
    assert found == expected


def test_schemes_in_which_each_label_can_be_decoded():
    expected = {
        "O NOUN": None,
        "O B-X I-X": "BIO",
        "O B-X I-X I-Y": None,  # As in IOB1.
        "O S-X B-Y E-Y": "BIOES",
        "O U-X B-X I-X L-X": "BIOUL",
        "O S-X B-X": None,
        "O S-X I-X L-X": None,
    }
    found = {text: decoding_scheme(text.split()) for text in expected}
    assert found == expected


@pytest.mark.parametrize("scheme", SCHEMES)
def test_entities_are_the_spans_of_every_scheme(scheme):
    for spans in span_sets(4):
        assert entities(SCHEMES[scheme](spans, 4)) == spans


def test_a_type_may_have_hyphens_or_be_absent():
    allowed = allowed_tags(["O", "B-a-b", "I-a-b", "I-a"], "BIO")
    assert_equal(allowed.transitions[1], [True, True, True, False])
    allowed = allowed_tags(["O", "B", "I"], "BIO")
    assert_equal(allowed.transitions[:, 2], [0, 1, 1])
    assert allowed_tags(["A", "B"], None) is None


@pytest.mark.parametrize(
    ("names", "scheme", "message"),
    [
        (["O"], "IOB1", "`scheme` must be one of.*Received: 'IOB1'"),
        (None, "BIO", "`scheme` needs `tag_names`"),
        (["O", "E-X"], "BIO", "must be 'O' or like 'B-...', 'I-...'.*'E-X'"),
        (["O", "O-X"], "BIO", "Received: 'O-X'"),
        (["O", "BI-X"], "BIO", "Received: 'BI-X'"),
        (["B-X", "E-X"], "BIOES", "sentences cannot be tagged .*; add 'O'"),
        (["O", "M-X"], "BIOES", r"'S-...'; write 'I-X'. Rec.*'M-X'"),
    ],
)
def test_bad_schemes_are_named(names, scheme, message):
    with pytest.raises(ValueError, match=message):
        allowed_tags(names, scheme)


def test_entities_of_tags_that_break_their_scheme():
    tags = ["B-PER", "I-PER", "L-PER", "U-PER", "U-LOC", "L-LOC", "I-LOC"]
    expected = [(0, 3, "PER"), (3, 4, "PER")]
    expected += [(4, 5, "LOC"), (5, 6, "LOC"), (6, 7, "LOC")]
    assert entities(tags) == expected
    # IOB1 has "B-" only between adjacent entities.
    tags = ["I-PER", "B-PER", "I-PER", "I-LOC"]
    expected = [(0, 1, "PER"), (1, 3, "PER"), (3, 4, "LOC")]
    assert entities(tags) == expected
    assert entities(["B", "I", "O", "S"]) == [(0, 2, ""), (3, 4, "")]


@pytest.mark.parametrize("tag", ["PER", "O-PER", "", None, ["B-PER"]])
def test_entities_of_unknown_tags_are_an_error(tag):
    message = f"'O' or like 'B-...', .*'U-...'.*. Received: {tag!r}"
    with pytest.raises(ValueError, match=message.replace("[", r"\[")):
        entities(["O", tag])


def test_entities_without_a_type():
    assert find_scheme(["I", "O"]) == find_scheme(["B", "I", "O"]) == "BIO"
    assert to_scheme(["I", "I", "O", "B", "B"], "BIO") == [*"BIOBB"]
    assert allowed_tags([*"OBI"], "BIO").start.tolist() == [True, True, False]
    for labels in ("O", "BS", "BMES", ["B", "I", "B-X"]):
        assert find_scheme(labels) is None


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (["B_X", "I_X", "O"], "'B_X' by 'B-X', 'I_X' by 'I-X'"),
        (["b-np", "o"], "'b-np' by 'B-np', 'o' by 'O'"),
        (["X-Y-B", "X-Y-I"], "'X-Y-B' by 'B-X-Y', 'X-Y-I' by 'I-X-Y'"),
        (["B-X", "M-X", "E-X", "S-X"], "Replace 'M-X' by 'I-X'"),
        (["B-X", "I-X", "0"], "Replace '0' by 'O'"),
        (['"B-X"', '"O"'], "Replace '\"B-X\"' by 'B-X', '\"O\"' by 'O'"),
        (["B:X", "I\u2013X"], "Replace 'B:X' by 'B-X', 'I\u2013X' by 'I-X'"),
        ([f"B_{x}" for x in "abcdefghijkl"], "'B_i' by 'B-i', ..."),
        (["B-X", "I-X", "PER"], r"Received: \['B-X', 'I-X'\] and \['PER'\]"),
    ],
)
def test_other_spellings_are_told(labels, told):
    with pytest.raises(ValueError, match=told):
        check_scheme(labels)


def test_labels_of_no_scheme():
    assert check_scheme(["B-X", "I-X", "O"]) == "BIO"
    for text in ("NN V", "O", "PER O", "", "b-x NN", "0 O 1"):
        assert check_scheme(text.split()) is None


@pytest.mark.parametrize(
    ("names", "number"),
    [([], None), ("OB", None), (["O", 1], None), (["O", "O"], 2), (["O"], 3)],
)
def test_bad_names_are_named(names, number):
    assert check_tag_names(("O", "X"), 2) == ["O", "X"]
    told = f"must be {number or ''} ?different strings"
    with pytest.raises(ValueError, match=told):
        check_tag_names(names, number)
