"""Text whose entities are spans of characters."""

import gzip
import json

import pytest

from keras_elmo.text import tokenize
from keras_elmo.text.labelled_text import read_labelled
from keras_elmo.text.raw_text import raw_sentences

pytest.importorskip("spacy", reason="It divides text into words.")

TEXT = "Ann Lee ran.\n\nDid Acme Corp. of Oslo?  Yes"
WORDS = [
    ["Ann", "Lee", "ran", "."],
    ["Did", "Acme", "Corp.", "of", "Oslo", "?"],
    ["Yes"],
]
TAGS = [
    ["B-PER", "I-PER", "O", "O"],
    ["O", "B-ORG", "I-ORG", "O", "B-LOC", "O"],
    ["O"],
]
OFFSETS = "start_offset", "end_offset"
SPANS = [[0, 7, "PER"], [18, 28, "ORG"], [32, 36, "LOC"]]


def write(folder, *lines, name="a.jsonl"):
    path = folder / name
    text = "\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines)
    path.write_bytes(
        (gzip.compress if name[-2:] == "gz" else bytes)(text.encode())
    )
    return str(path)


def objects(start, end, kind):
    names = start, end, kind
    return [dict(zip(names, span)) for span in SPANS]


ROWS = [
    {"text": " ".join(words), "words": words, "tags": tags, "entities": []}
    for words, tags in zip(WORDS, TAGS)
]


def test_sentences_with_words_and_tags(tmp_path):
    empty = {"text": "\n", "words": [], "tags": []}
    found = read_labelled(write(tmp_path, empty, *ROWS, "", empty))
    assert (found.words, found.tags) == (WORDS, TAGS)
    assert found.line_of("B-LOC") == 3


def test_words_of_raw_text():
    assert tokenize(TEXT) == WORDS
    assert tokenize("") == tokenize(" \n\n") == []
    german = [["Das", "ist", "z.B.", "so", "."]]
    assert tokenize("Das ist z.B. so.", "de") == german
    texts = ["", TEXT, "\u00c9t\u00e9 .\r\n"]
    found = list(raw_sentences(texts, "en"))
    words = [[x.tokens for x in sentences] for sentences in found]
    assert words == [[], WORDS, [["\u00c9t\u00e9", "."]]]
    for text, sentences in zip(texts, found, strict=True):
        for x in sentences:
            for start, word in zip(x.starts, x.tokens, strict=True):
                assert x.text[start : start + len(word)] == word
            assert x.text == text


@pytest.mark.parametrize("letter", ["\u6628", "\u30ab", "\u0e01"])
def test_words_that_are_not_divided_are_told(letter):
    told = "`language='en'` do not divide .* such as zh, ja or th"
    with pytest.warns(match=told) as found:
        tokenize(f"{letter * 11} a\n{letter * 12}")
    assert len(found) == 1
    tokenize(f"{letter * 10} {'a' * 50}")


def test_bad_arguments_of_tokenize():
    with pytest.raises(ValueError, match=r"`text` must be a string\. .*: b'"):
        tokenize(b"a")
    with pytest.raises(ValueError, match=r"`language` must be one of .*'de', "):
        tokenize("a", "german")


@pytest.mark.parametrize(
    "row",
    [
        {"text": TEXT, "label": SPANS},
        {"text": TEXT, "labels": SPANS[::-1] + SPANS[:1]},
        {"text": TEXT, "entities": SPANS},
        {"text": TEXT, "entities": objects(*OFFSETS, "label")},
        {"text": TEXT, "spans": objects("start", "end", "label"), "label": "X"},
        {"text": TEXT, "spans": None, "entities": [], "label": SPANS},
        {
            "text": TEXT,
            "spans": objects("start", "end", "label"),
            "answer": "accept",
        },
        {"id": 1, "data": TEXT, "label": SPANS},  # Of older doccano.
        {"text": TEXT, "label": SPANS, "words": 9, "tags": ["news"]},
    ],
)
def test_what_tools_write(tmp_path, row):
    found = read_labelled(write(tmp_path, row, name="a.jsonl.gz"))
    assert (found.words, found.tags) == (WORDS, TAGS)
    for x in found.sentences:
        assert x.lines == [1] * len(x.tokens)
        starts = zip(x.starts, x.tokens)
        assert all(x.text[i : i + len(word)] == word for i, word in starts)


def test_texts_without_spans(tmp_path):
    some = {"text": "Bo ran", "answer": "accept"}
    spans = {"spans": [{"start": 0, "end": 2, "label": "PER"}]}
    lines = (
        {**some, **spans},
        "",
        some,  # Prodigy leaves `spans` out.
        {**some, **spans, "answer": "reject"},
        {**some, "answer": "ignore"},
        {"text": "", "label": []},
        {"text": "Bo", "label": None},
    )
    found = read_labelled(write(tmp_path, *lines))
    assert found.words == [["Bo", "ran"]] * 2 + [["Bo"]]
    assert found.tags == [["B-PER", "O"], ["O", "O"], ["O"]]
    assert [x.lines for x in found.sentences] == [[1, 1], [3, 3], [7]]
    assert found.reading[-1] == "left out, because not accepted: 2"


def test_a_sentence_does_not_end_within_a_span(tmp_path):
    text = "I read Who? Me! by Bo. Fine."
    found = read_labelled(
        write(tmp_path, {"text": text, "label": [[7, 15, "W"]]})
    )
    words = ["I read Who ? Me !", "by Bo .", "Fine ."]
    assert [*map(" ".join, found.words)] == words
    assert found.tags[0] == [*"OO", "B-W", *["I-W"] * 3]


def test_spans_that_cut_words_are_widened_and_told(tmp_path):
    spans = [[0, 4, "PER"], [10, 13, "X"], [16, 18, "Y"]]
    path = write(
        tmp_path,
        "",
        {"text": "Ann  met Mr.Xu-Li now", "label": spans[:1]},
        {"text": "Ann  met MrXu-Li now", "label": spans},
    )
    message = (
        r"line 3: the span 'rXu' \(X\) cuts words of 'MrXu', so .* Spans "
        r"that cut words: 2, others in line 3\."
    )
    with pytest.warns(UserWarning, match=message):
        found = read_labelled(path)
    assert found.words[1] == ["Ann", "met", "MrXu", "-", "Li", "now"]
    assert found.tags[1] == ["B-PER", "O", "B-X", "O", "O", "B-Y"]


@pytest.mark.parametrize("names", [("tokens", "ner_tags"), ("words", "labels")])
def test_words_and_labels_of_hugging_face(tmp_path, names):
    lines = [dict(zip(names, pair)) for pair in zip(WORDS, TAGS)]
    found = read_labelled(write(tmp_path, *lines))
    assert (found.words, found.tags) == (WORDS, TAGS)
    assert found.reading == [f"their `{names[0]}` and `{names[1]}`"]
    numbers = dict(zip(names, (["a", "b"], [3, 0])))
    told = f"names of the labels in `{names[1]}`, .*features"
    with pytest.raises(ValueError, match=told):
        read_labelled(write(tmp_path, numbers))


def test_answers_about_single_spans_are_told(tmp_path):
    """As of Prodigy's ner.teach."""
    span = {"start": 0, "end": 2, "label": "X"}
    line = {"text": "Bo met Cy", "spans": [span], "answer": "accept"}
    other = {**line, "spans": [{**span, "start": 7, "end": 9}]}
    for lines in ([line, other], [{**line, "_view_id": "ner"}]):
        with pytest.warns(match="all other entities.* ner.silver-to-gold"):
            read_labelled(write(tmp_path, *lines))
    read_labelled(write(tmp_path, line, {**line, "_view_id": "ner_manual"}))


@pytest.mark.parametrize(
    ("text", "span", "told"),
    [
        ("\U0001f600 Maria ran", (3, 8), "in UTF-16, .* cuts words of"),
        ("Maria \U0001f600 Bo", (9, 11), r"in UTF-16, .* 11, 'X'\] ends b"),
        ("\u00e9\u00e9 Maria ran", (5, 10), "in bytes.* of 'Maria ran'; line"),
        ("a\r\n\r\nMaria ran", (3, 8), r"with \\r\\n as one character"),
        ("Maria ran", (1, 6), "from 1. Expected .* Unicode code points from"),
        ("Maria ran", (1, 5), "from 1, and end is the last character"),
        ("Maria ran", (0, 4), "from 0, and end is the last character"),
        ("Maria ran", (1, 4), "otherwise, such as in bytes, in UTF-16, with"),
        ("Maria ran", (6, 10), r"1: the span \[6, 10, 'X'\] ends beyond the 9"),
        (8 * "\u6628", (2, 4), "not be divided by the rules of its `language`"),
    ],
)
def test_spans_that_are_counted_otherwise(tmp_path, text, span, told):
    lines = [{"text": text, "label": [[*span, "X"]]}] * 6
    with pytest.raises(ValueError, match=f"6 of 6 spans cut .*{told}"):
        read_labelled(write(tmp_path, *lines))
    if "UTF-16, .* cuts" in told:  # One is enough.
        with pytest.raises(ValueError, match=f"1 of 7 .*{told}"):
            some = {"text": "Maria ran", "label": [[0, 5, "X"]]}
            read_labelled(write(tmp_path, *[some] * 6, lines[0]))


TAGGED = "line 2: expected a JSON object with `words` and as many `tags`"
UNTAGGED = "line 2: expected a JSON object with a `text` and its sp"
SOME = {"text": "a", "label": []}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{"text": "", "words": [], "tags": []}], "contains no sentences"),
        ([ROWS[0], "no JSON"], f"{TAGGED}.*: 'no JSON'$"),
        *(
            ([ROWS[0], wrong], TAGGED)
            for wrong in (
                {"text": TEXT, "label": SPANS},
                {"words": ["a", "b"], "tags": ["O"]},
                {"words": ["a"], "tags": [1.5]},
                {"words": [""], "tags": ["O"]},
                {"words": "ab", "tags": "OO"},
            )
        ),
        ([SOME, "{"], f"{UNTAGGED}.*: '{{'$"),
        *(
            ([SOME, wrong], UNTAGGED)
            for wrong in (
                *("[]", {"text": "a"}, {"body": "a", "label": []}),
                *({"text": 1, "label": []}, {"text": "\ud83d", "label": []}),
                {"text": "a", "label": "good"},
                {"text": "a b", "label": [[0.5, 1, "X"]]},
                {"text": "a b", "label": [[0, 1, " "]]},
                {"text": "a b", "label": [[0, 1]]},
                {"text": "a b", "spans": [{"start": 0, "label": "X"}]},
            )
        ),
        *(
            ([{"text": "a b", "label": spans}], f"line 1: .*{message}")
            for spans, message in (
                ([[2, 2, "X"]], "spans with 0 <= start < end <= 3, the"),
                ([[-1, 1, "X"]], "spans with 0 <= start < end <= 3, the"),
                ([[1, 2, "X"]], r"' ' \(X\) has no word of its"),
                ([[0, 3, "X"], [2, 3, "Y"]], r"'b' \(Y\) has no word of its"),
            )
        ),
        (
            [{"text": "a b", "spans": [[0, 1, "X"]], "label": [[2, 3, "Y"]]}],
            "line 1: expected the spans of a text in one list, .* 2 that have",
        ),
        (
            [{"text": "a b", "label": [[0, 1, "B-X"], [2, 3, "I-X"]]}],
            "types such as 'X', which become .* Received: the type 'B-X'",
        ),
    ],
)
def test_files_that_are_refused(tmp_path, lines, message):
    path = write(tmp_path, *lines)
    with pytest.raises(ValueError, match=f"'{path}'.*{message}"):
        read_labelled(path)
