"""Text whose entities are spans of characters."""

import gzip
import itertools
import json

import pytest

from keras_elmo.text import tokenize
from keras_elmo.text.annotated_text import read_annotated
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
    found = read_annotated(write(tmp_path, empty, *ROWS, "", empty))
    assert (found.sentences, found.tags) == (WORDS, TAGS)
    assert found.line_of("B-LOC") == 3
    row = {"text": TEXT, "label": SPANS, "words": 9, "tags": ["news"]}
    assert read_annotated(write(tmp_path, row)).tags == TAGS


def test_words_of_raw_text():
    assert tokenize(TEXT) == WORDS
    assert tokenize("") == tokenize(" \n\n") == []
    german = [["Das", "ist", "z.B.", "so", "."]]
    assert tokenize("Das ist z.B. so.", "de") == german
    texts = ["", TEXT, "\u00c9t\u00e9 .\r\n"]
    found = list(raw_sentences(texts, "en"))
    words = [[[word for _, word in s] for s in x] for x in found]
    assert words == [[], WORDS, [["\u00c9t\u00e9", "."]]]
    for text, sentences in zip(texts, found, strict=True):
        for start, word in itertools.chain(*sentences):
            assert text[start : start + len(word)] == word


def test_bad_arguments_of_tokenize():
    with pytest.raises(ValueError, match=r"`text` must be a string\. .*: b'"):
        tokenize(b"a")
    with pytest.raises(ValueError, match=r"`language` must be one of .*'de', "):
        tokenize("a", "german")


@pytest.mark.parametrize(
    "spans",
    [
        {"label": SPANS},
        {"labels": SPANS[::-1] + SPANS[:1]},
        {"entities": SPANS},
        {"entities": objects("start_offset", "end_offset", "label")},
        {"spans": objects("start", "end", "label"), "label": "NEWS"},
        {"spans": objects("start", "end", "label"), "answer": "accept"},
    ],
)
def test_what_tools_write(tmp_path, spans):
    path = write(tmp_path, {"text": TEXT, **spans}, name="a.jsonl.gz")
    found = read_annotated(path)
    assert found[1:3] == (WORDS, TAGS)
    assert found.lines == [[1] * len(words) for words in WORDS]


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
    found = read_annotated(write(tmp_path, *lines))
    assert found.sentences == [["Bo", "ran"]] * 2 + [["Bo"]]
    assert found.tags == [["B-PER", "O"], ["O", "O"], ["O"]]
    assert found.lines == [[1, 1], [3, 3], [7]]
    assert found.how[-1] == "2 texts that were not accepted left out"


def test_a_sentence_does_not_end_within_a_span(tmp_path):
    text = "I read Who? Me! by Bo. Fine."
    found = read_annotated(
        write(tmp_path, {"text": text, "label": [[7, 15, "W"]]})
    )
    words = ["I read Who ? Me !", "by Bo .", "Fine ."]
    assert [*map(" ".join, found.sentences)] == words
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
        r"line 3: the span 'rXu' \(X\) cuts a word, so 'MrXu' is taken. .* 2 s"
    )
    with pytest.warns(UserWarning, match=message):
        found = read_annotated(path)
    assert found.sentences[1] == ["Ann", "met", "MrXu", "-", "Li", "now"]
    assert found.tags[1] == ["B-PER", "O", "B-X", "O", "O", "B-Y"]


TAGGED = "line 2: expected a JSON object with `words` and as many `tags`"
UNTAGGED = "line 2: expected a JSON object with a `text` and its sp"
CUT = {"text": "\u00c9 in Oslo .", "label": [[6, 10, "LOC"]]}
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
                {"words": ["a"], "tags": [1]},
                {"words": [""], "tags": ["O"]},
                {"words": "ab", "tags": "OO"},
            )
        ),
        ([SOME, "{"], f"{UNTAGGED}.*: '{{'$"),
        *(
            ([SOME, wrong], UNTAGGED)
            for wrong in (
                *("[]", {"text": "a"}, {"data": "a", "label": []}),
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
                ([[0, 4, "X"]], "spans with 0 <= start < end <= 3, the"),
                ([[2, 2, "X"]], "spans with 0 <= start < end <= 3, the"),
                ([[-1, 1, "X"]], "spans with 0 <= start < end <= 3, the"),
                ([[1, 2, "X"]], r"' ' \(X\) has no word of its"),
                ([[0, 3, "X"], [2, 3, "Y"]], r"'b' \(Y\) has no word of its"),
            )
        ),
        ([CUT] * 11, r"'slo ' .* 11 such spans\. .* in byt"),
    ],
)
def test_files_that_are_refused(tmp_path, lines, message):
    path = write(tmp_path, *lines)
    with pytest.raises(ValueError, match=f"'{path}'.*{message}"):
        read_annotated(path)
