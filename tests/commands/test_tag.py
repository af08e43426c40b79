"""The command `keras-elmo tag`."""

import gzip
import io
import itertools
import json
import sys

import numpy as np
import pytest
from tagging.small_taggers import crf_tagger

from keras_elmo import Tagger
from keras_elmo.choices import ANNOTATION_TOOLS
from keras_elmo.commands import tag
from keras_elmo.text import raw_text

pytestmark = pytest.mark.usefixtures("portable_module")
TEXT = "The cat sat .\n\n\u00c9t\u00e9  \u4e2d\u6587\u4e2d\u6587\nThe\tend\n"
TOKENS = [line.split() for line in TEXT.splitlines()]
CONLLU = "# text = du\n1-2\tdu\t_\n1\tde\t_\n2\tle\t_\n\n1\tchat\t_\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The path of a tagger."""
    model = crf_tagger()
    transitions = model.get_layer("crf").transitions
    transitions.assign(-99 * np.eye(5))  # No tag twice.
    path = tmp_path_factory.mktemp("model") / "ner.keras"
    model.save(path)
    return str(path)


@pytest.fixture(autouse=True)
def corpus(folder):
    """The file of `TEXT` in the current folder."""
    (folder / "corpus.txt").write_bytes(TEXT.encode())
    return folder / "corpus.txt"


@pytest.fixture
def set_stdin(monkeypatch):
    """A function that replaces standard input by a text."""

    def set_stdin(text):
        source = io.BufferedReader(io.BytesIO(text.encode()))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(source))

    return set_stdin


def test_columns(model, folder, run, monkeypatch, set_stdin):
    out, _ = run("tag", model, "corpus.txt", "out.conll")
    assert out == "4 sentences, 8 tokens in 'out.conll'\n"
    expected = Tagger.load(model).predict(TOKENS)
    assert len({name for row in expected for name in row}) > 1
    text = "".join(
        "".join(f"{w}\t{t}\n" for w, t in zip(words, tags)) + "\n"
        for words, tags in zip(TOKENS, expected)
    )
    assert (folder / "out.conll").read_bytes() == text.encode()
    monkeypatch.setattr(tag, "CHUNK", 1)
    shown = run("tag", model, "corpus.txt", "-")
    assert shown == (text, "4 sentences, 8 tokens\n")
    set_stdin(TEXT)
    (folder / "-").write_text("no input")
    assert run("tag", model, "-", "same.conll", "--quiet") == ("", "")
    assert (folder / "same.conll").read_bytes() == text.encode()


def test_eight_bits(model, run):
    pytest.importorskip("onnxruntime")
    run("tag", model, "corpus.txt", "out.jsonl", "--quantize", "int8")
    tagger = Tagger.load(model, quantize="int8")
    found = tagger.predict_entities([words for words in TOKENS if words])
    rows = [row["entities"] for row in read_rows() if row["words"]]
    shares = [[x["probability"] for x in row] for row in rows]
    expected = [[x.probability for x in row] for row in found]
    assert shares == [pytest.approx(row, abs=1e-5) for row in expected]
    exact = Tagger.load(model).predict_entities(TOKENS)
    exact = [[x.probability for x in row] for row in exact if row]
    assert exact != [pytest.approx(x, abs=1e-5) for x in expected if x]


def read_rows():
    """The objects in the file `out.jsonl`."""
    with open("out.jsonl", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_json_lines_of_conllu(model, folder, run):
    (folder / "a.conllu.gz").write_bytes(gzip.compress(CONLLU.encode()))
    run("tag", model, "a.conllu.gz", "out.jsonl")
    words = [["de", "le"], ["chat"]]
    found = Tagger.load(model).predict_entities(words, return_tags=True)
    assert read_rows() == [
        {
            "text": " ".join(sentence),
            "words": sentence,
            "tags": tags,
            "entities": [as_object(sentence, *x) for x in entities],
        }
        for sentence, entities, tags in zip(words, *found, strict=True)
    ]


def as_object(words, start, end, kind, probability):
    """An entity, if the text is the words joined by spaces."""
    return {
        "type": kind,
        "start_word": start,
        "end_word": end,
        "start_char": sum(len(word) + 1 for word in words[:start]),
        "end_char": len(" ".join(words[:end])),
        "probability": float(f"{probability:.6g}"),
    }


def check_places(row):
    """Compares the words of each entity with its part of the text."""
    assert Tagger.entities(row["tags"]) == [
        (x["start_word"], x["end_word"], x["type"]) for x in row["entities"]
    ]
    for x in row["entities"]:
        text = row["text"][x["start_char"] : x["end_char"]]
        words = row["words"][x["start_word"] : x["end_word"]]
        assert "".join(text.split()) == "".join(words)
        assert 0 < x["probability"] <= 1


def test_places_in_lines(model, folder, run):
    """The white space of a line stays in its text."""
    lines = [" The \U0001f44d\tcat  sat", "", "the thet  he the\v", "a"]
    (folder / "a.txt").write_text("\r\n".join(lines), "utf-8", newline="")
    run("tag", model, "a.txt", "out.jsonl", "--threshold", "0.01")
    rows = read_rows()
    assert [row["text"] for row in rows] == lines
    for row in rows:
        check_places(row)
    assert min(len(rows[i]["entities"]) for i in (0, 2)) > 1


RAW = "  The cat.  It sat\u00a0on \U0001f44d now!\n\n \t\nEnd.\r\nit is"


def test_places_in_raw_text(model, folder, run):
    pytest.importorskip("spacy", reason="It divides text into words.")
    (folder / "a.txt").write_bytes(RAW.encode())
    for more in (["--threshold", "0.05"], ["--overwrite"]):
        out, _ = run("tag", model, "a.txt", "out.jsonl", "--raw", *more)
        assert out.startswith("4 sentences, 13 tokens in")
        rows = read_rows()
        assert "".join(row["text"] for row in rows) == RAW
        assert [len(row["words"]) for row in rows] == [3, 6, 0, 0, 2, 2]
        assert sum(len(row["entities"]) for row in rows) > 2
        for row in rows:
            check_places(row)
    # It is labelled text, too.
    out, _ = run("evaluate", model, "out.jsonl", "--json")
    assert json.loads(out)["f1"] == 1
    # Only the words of the text are sentences elsewhere.
    run("tag", model, "a.txt", "out.conll", "--raw")
    blocks = (folder / "out.conll").read_text().split("\n\n")
    assert [block.count("\n") + 1 for block in blocks] == [3, 6, 2, 2, 1]
    assert blocks[0].startswith("The\t")


@pytest.mark.filterwarnings("always:'.* looks like")
def test_suggestions_for_json_cause_a_warning(model, folder, run):
    pytest.importorskip("spacy")
    (folder / "tasks.txt").write_text('{"text": "Ann met Bo."}\n')
    options = "--raw", "--output-format", "doccano"
    _, err = run("tag", model, "tasks.txt", "out.jsonl", *options)
    assert "warning: 'tasks.txt' looks like JSON" in err


@pytest.mark.parametrize("tool", ANNOTATION_TOOLS)
def test_suggestions_for_annotation_tools(model, folder, run, fails, tool):
    """Each line is a text, and its offsets are those of the tools."""
    pytest.importorskip("spacy")
    texts = ["\U0001f600 Ann met Bo. ", "  Caf\u00e9 x", "It is."]
    lines = f"{texts[0]}\r\n\r\n{texts[1]}\n \n{texts[2]}"
    (folder / "texts.txt").write_bytes(lines.encode())
    options = "--raw", "--output-format", tool
    out, _ = run("tag", model, "texts.txt", "out.json", *options)
    assert out == "3 texts in 'out.json'\n"
    content = (folder / "out.json").read_text("ascii")
    printed = run("tag", model, "texts.txt", "-", *options).out
    assert printed == content and content.endswith("\n")
    if tool == "label-studio":
        rows = json.loads(content)
        found = [x["predictions"][0]["result"] for x in rows]
        labels = [[x["value"].pop("labels")[0] for x in row] for row in found]
        spans = [[x["value"] for x in row] for row in found]
        rows = [x["data"] for x in rows]
    else:
        rows = [*map(json.loads, content.splitlines())]
        names = "start", "end", "label"
        spans = [
            x["spans"]
            if "spans" in x
            else [dict(zip(names, y)) for y in x["label"]]
            for x in rows
        ]
        labels = [[x["label"] for x in row] for row in spans]
    assert [x["text"] for x in rows] == texts
    expected = Tagger.load(model).predict_text(texts)
    assert sum(map(len, expected)) > 3
    for row, kinds, wanted in zip(spans, labels, expected, strict=True):
        places = [(x["start"], x["end"], kind) for x, kind in zip(row, kinds)]
        assert places == [tuple(x[:3]) for x in wanted]
    (folder / "empty.txt").write_text("\n")
    empty = run("tag", model, "empty.txt", "-", *options).out
    assert empty == ("[]\n" if tool == "label-studio" else "")
    options = ["--output-format", tool]
    assert "needs --raw" in fails("tag", model, "texts.txt", "-", *options)


def test_a_threshold(model, folder, run, fails):
    sentences = [words for words in TOKENS if words]
    command = ["tag", model, "corpus.txt", "out.conll", "--threshold"]
    for threshold in (0.02, 0.9):
        run(*command, threshold, "--overwrite")
        found = (folder / "out.conll").read_text().split()[1::2]
        tagger = Tagger.load(model)
        _, tags = tagger.predict_entities(
            sentences, threshold=threshold, return_tags=True
        )
        assert found == [*itertools.chain(*tags)]
    for wrong in ("0", "1.5", "nan", "0,5"):
        run(*command, wrong, status=2)
    (folder / "empty.txt").write_text("")
    for name in ("corpus.txt", "empty.txt"):
        said = fails("tag", "english_pos", name, "a", "--threshold", 0.5)
        assert "mark entities" in said


ROWS = "Ann B-PER\nran O\n. O\n"
FEATURES = "\t_" * 4 + "\t0\troot\t_\t_\n"
KINDS = [
    (
        "1-2\tdu@1\tde@2\tle@\n1\tchat@".replace("@", FEATURES),
        "",
        [["de", "le"], ["chat"]],
    ),
    (
        f"{ROWS}\n{ROWS}",
        "is read as a labelled file",
        [["Ann", "ran", "."]] * 2,
    ),
    # Without an empty line, each line may be a sentence.
    (
        ROWS * 2,
        "looks like words with labels, and each of its lines",
        [row.split() for row in ROWS.splitlines()] * 2,
    ),
]


@pytest.mark.filterwarnings("always:'.* looks like")
@pytest.mark.parametrize("name", ["corpus.gz", "-"])
@pytest.mark.parametrize(("text", "told", "sentences"), KINDS)
def test_the_kind_of_the_text_is_found(
    model, folder, run, set_stdin, name, text, told, sentences
):
    (folder / name).write_bytes(gzip.compress(text.encode()))
    set_stdin(text)
    out, err = run("tag", model, name, "-", "--output-format", "jsonl")
    found = [(x["text"], x["words"]) for x in map(json.loads, out.splitlines())]
    assert found == [(" ".join(words), words) for words in sentences]
    assert err.count(f"'{name}' {told}") == err.count("pass --format")
    assert err.count("pass --format") == bool(told)


LABELLED = "# id = 1\nThe B-X O\ncat O B-X\n\n#end O O\n"
TAGGED = [["The", "cat"], ["#end"]]


@pytest.mark.parametrize("name", ["a.tsv", "a.txt", "-"])
def test_labelled_files(model, folder, run, set_stdin, name):
    """As conlleval reads them: the gold label and the tag are last."""
    text = LABELLED.replace(" ", "\t") if name == "a.tsv" else LABELLED
    text = f"{text}\n{text}"
    (folder / name).write_text(text)
    set_stdin(text)
    format = [] if name == "a.tsv" else ["--format", "conll"]
    out, err = run("tag", model, name, "-", "--column", 2, *format)
    the, cat, end = itertools.chain(*Tagger.load(model).predict(TAGGED))
    rows = f"The O B-X {the}\ncat B-X O {cat}\n\n#end O O {end}\n\n"
    assert out == rows * 2
    how = "words in column 1, labels in column 2, more labels in 3, 2 comments"
    assert f"{name}: {how}, the first in line 1\n" in err
    assert "4 sentences, 6 tokens" in err
    assert "is read as a labelled file" not in err


def test_the_format_of_the_output_is_that_of_its_name_or_is_given(model, run):
    """Of a labelled file, an empty column is `_`."""
    with open("a.tsv", "w") as file:
        file.write("New York\t\tO\nran\tx\tO\n")
    run("tag", model, "a.tsv", "out.jsonl", "--output-format", "conll")
    with open("out.jsonl") as file:
        assert file.read().startswith("New York\t_\tO\t")


def test_tabs_if_a_label_has_a_space(folder, run):
    """Else, conlleval would take the end of a label for a column."""
    names = ["O", "B-First Name", "I-First Name", "B-X", "I-X"]
    crf_tagger({"tag_names": names}).save("names.keras")
    (folder / "a.conll").write_text("Ann O\nran O\n\nBo O\n")
    out, _ = run("tag", "names.keras", "a.conll", "-")
    rows = [line.split("\t") for line in out.splitlines() if line]
    assert [row[:2] for row in rows] == [
        ["Ann", "O"],
        ["ran", "O"],
        ["Bo", "O"],
    ]
    assert all(len(row) == 3 and row[2] in names for row in rows)


def test_entities_only_of_a_scheme(run):
    run("tag", "english_pos", "corpus.txt", "out.jsonl")
    assert {*map(tuple, read_rows())} == {("text", "words", "tags")}


@pytest.mark.filterwarnings("always:punctuation is attached")
def test_attached_punctuation_is_told(model, folder, run, set_stdin):
    text = "They can fish. Didn't you?\n" * 3
    (folder / "a.txt").write_text(text)
    set_stdin(text)
    for source in ("a.txt", "-"):
        _, err = run("tag", model, source, "out", "--overwrite")
        assert err.count("warning") == 1
        told = "take for other words: 'fish.', 'you?'. Split it off, or pass"
        assert "keras-elmo: warning: punctuation is attached to" in err
        assert told in err
    pytest.importorskip("spacy")
    (folder / "raw.txt").write_text("Acme Inc. fell.\n")
    assert "warning" not in run("tag", model, "raw.txt", "a", "--raw").err


def test_raw_text_without_spacy(model, folder, fails, monkeypatch):
    raw_text._pipeline.cache_clear()
    monkeypatch.setitem(sys.modules, "spacy", None)
    message = fails("tag", model, "corpus.txt", "out.conll", "--raw")
    assert "spacy: pip install spacy" in message
    assert not (folder / "out.conll").exists()


def test_errors_leave_no_output(model, folder, fails):
    (folder / "latin.txt").write_bytes(b"caf\xe9 .\n")
    (folder / "bad.conll").write_text("a O\nb\n")
    (folder / "rows.jsonl").write_text('{"text": "a"}\n')
    before = sorted(folder.iterdir())
    for arguments, message in [
        ("latin.txt out --raw", "in line 1, at byte 3"),
        ("bad.conll out", "is a sentence, pass --format text."),
        ("none.conll out --format conll", "no labelled text file 'none.conll'"),
        ("corpus.txt out --column 2", "Pass --format conll"),
        ("corpus.txt out --word-column 2", "Pass --format conll"),
        ("corpus.txt out --language de", "--language is for --raw."),
        ("corpus.txt out --raw --language q", "one of ['af'"),
        ("corpus.txt out.jsonl.gz", "JSON Lines if its name ends"),
        ("corpus.txt out.JSONL", "JSON Lines if its name ends"),
        ("rows.jsonl out", "and not JSON. Write its texts"),
        ("rows.jsonl out --raw", "and not JSON. Write its texts"),
        (
            "rows.jsonl out --raw --output-format doccano",
            "and not JSON. Write its texts",
        ),
        ("corpus.txt corpus.txt", "To replace it, pass --overwrite."),
    ]:
        assert message in fails("tag", model, *arguments.split())
        assert sorted(folder.iterdir()) == before
    told = "Expected one of ['english_names', 'english_pos']"
    assert told in fails("tag", "english_po", "corpus.txt", "out")
    assert (folder / "corpus.txt").read_bytes() == TEXT.encode()
