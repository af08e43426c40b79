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


def test_sentences_with_words_and_tags(tmp_path):
    rows = [
        {"text": " ".join(words), "words": words, "tags": tags, "entities": []}
        for words, tags in zip(WORDS, TAGS)
    ]
    empty = {"text": "\n", "words": [], "tags": []}
    found = read_annotated(write(tmp_path, empty, *rows, "", empty))
    assert (found.sentences, found.tags) == (WORDS, TAGS)
    assert found.line_of("B-LOC") == 3
    with pytest.raises(ValueError, match="contains no sentences"):
        read_annotated(write(tmp_path, empty))
    for wrong in (
        {"text": TEXT, "label": SPANS},
        {"words": ["a", "b"], "tags": ["O"]},
        {"words": ["a"], "tags": [1]},
        {"words": [""], "tags": ["O"]},
        {"words": None, "tags": []},
        {"words": "ab", "tags": "OO"},
        "no JSON",
    ):
        with pytest.raises(ValueError, match="line 2: expected a JSON object"):
            read_annotated(write(tmp_path, rows[0], wrong))


def test_words_and_tags_may_be_something_else(tmp_path):
    row = {"text": TEXT, "label": SPANS, "words": 9, "tags": ["news"]}
    assert read_annotated(write(tmp_path, row)).tags == TAGS


def test_words_of_raw_text():
    assert tokenize(TEXT) == WORDS
    assert tokenize("") == tokenize(" \n\n") == []
    assert tokenize("Das ist z.B. so.", "de") == [
        ["Das", "ist", "z.B.", "so", "."]
    ]
    texts = ["", TEXT, "\u00c9t\u00e9 .\r\n"]
    found = list(raw_sentences(texts, "en"))
    assert [[[w for _, w in s] for s in x] for x in found] == [
        [],
        WORDS,
        [["\u00c9t\u00e9", "."]],
    ]
    for text, sentences in zip(texts, found, strict=True):
        for start, word in itertools.chain(*sentences):
            assert text[start : start + len(word)] == word


def test_bad_arguments_of_tokenize():
    with pytest.raises(
        ValueError, match=r"`text` must be a string\. Received: b'"
    ):
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
    path = write(
        tmp_path,
        {**some, **spans},
        "",
        some,  # Prodigy leaves `spans` out.
        {**some, **spans, "answer": "reject"},
        {**some, "answer": "ignore"},
        {"text": "", "label": []},
        {"text": "Bo", "label": None},
    )
    found = read_annotated(path)
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


def test_positions_in_bytes_are_refused(tmp_path):
    line = {"text": "\u00c9 in Oslo .", "label": [[6, 10, "LOC"]]}
    with pytest.raises(
        ValueError, match=r"'slo ' .* 11 such spans\. .* in byt"
    ):
        read_annotated(write(tmp_path, *[line] * 11))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: expected a JSON object with a `text` and its spans"),
        ("[]", "expected a JSON object"),
        ({"text": "a"}, "in `label`, `labels`, `entities` or `spans`"),
        ({"data": "a", "label": []}, 'Received: \'{"data"'),
        (
            {"text": "a", "label": ["good"]},
            "lists .start, end, type. or objects",
        ),
        ({"text": "a", "label": "good"}, "lists"),
        (
            {"text": "a b", "label": [[0, 4, "X"]]},
            "<= start < end <= 3, the",
        ),
        (
            {"text": "a b", "label": [[2, 2, "X"]]},
            "<= start < end <= 3, the",
        ),
        (
            {"text": "a b", "label": [[-1, 1, "X"]]},
            "<= start < end <= 3, the",
        ),
        ({"text": "a b", "label": [[0.5, 1, "X"]]}, "lists"),
        ({"text": "a b", "label": [[0, 1, " "]]}, "lists"),
        ({"text": "a b", "label": [[0, 1, 7]]}, "lists"),
        ({"text": "a b", "label": [[0, 1]]}, "lists"),
        ({"text": "a b", "spans": [{"start": 0, "label": "X"}]}, "lists"),
        ({"text": 1, "label": []}, "a JSON object"),
        ({"text": "a \ud83d", "label": []}, "a JSON object"),
        (
            {"text": "a b", "label": [[1, 2, "X"]]},
            r"' ' \(X\) has no word of its",
        ),
        (
            {"text": "a b", "label": [[0, 3, "X"], [2, 3, "Y"]]},
            r"'b' \(Y\) has no w",
        ),
    ],
)
def test_bad_lines(tmp_path, line, message):
    path = write(tmp_path, {"text": "a", "label": []}, line)
    with pytest.raises(ValueError, match=message) as info:
        read_annotated(path)
    assert str(info.value).startswith(f"'{path}', line 2: ")


def test_no_text(tmp_path):
    with pytest.raises(ValueError, match="contains no sentences"):
        read_annotated(write(tmp_path, ""))
