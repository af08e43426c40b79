"""The command `keras-elmo tag`."""

import gzip
import io
import itertools
import json
import sys

import keras
import numpy as np
import pytest
from small_models import make_shallow_elmo

from keras_elmo import CRF
from keras_elmo import CRFDecoder
from keras_elmo import Tagger
from keras_elmo.commands import tag
from keras_elmo.commands.main import main
from keras_elmo.text import raw_text

pytestmark = pytest.mark.usefixtures("portable_module")
TEXT = "The cat sat .\n\n\u00c9t\u00e9  \u4e2d\u6587\u4e2d\u6587\nThe\tend\n"
TOKENS = [line.split() for line in TEXT.splitlines()]
CONLLU = "# text = du\n1-2\tdu\t_\n1\tde\t_\n2\tle\t_\n\n1\tchat\t_\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The path of a tagger."""
    ids, elmo = keras.Input((None, 12), dtype="int32"), make_shallow_elmo()
    x = keras.layers.Dense(3)(elmo(ids))
    scores = CRF(3)(x, mask=elmo.compute_mask(ids))
    tags = CRFDecoder(tag_names=["O", "B-X", "I-X"], name="tags")(scores)
    model = keras.Model(ids, tags)
    model.layers[-2].transitions.assign(-99 * np.eye(3))  # No tag twice.
    path = tmp_path_factory.mktemp("model") / "ner.keras"
    model.save(path)
    return str(path)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder, with a corpus."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_bytes(TEXT.encode())
    return tmp_path


@pytest.fixture
def set_stdin(monkeypatch):
    """A function that replaces standard input by a text."""

    def set_stdin(text):
        source = io.BufferedReader(io.BytesIO(text.encode()))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(source))

    return set_stdin


def test_columns(model, folder, capfd, monkeypatch, set_stdin):
    assert main(["tag", model, "corpus.txt", "out.conll"]) == 0
    out = capfd.readouterr().out
    assert out == "4 sentences, 8 tokens in 'out.conll'\n"
    expected = Tagger.load(model).predict(TOKENS)
    assert len({name for row in expected for name in row}) > 1
    text = "".join(
        "".join(f"{w}\t{t}\n" for w, t in zip(words, tags)) + "\n"
        for words, tags in zip(TOKENS, expected)
    )
    assert (folder / "out.conll").read_bytes() == text.encode()
    monkeypatch.setattr(tag, "CHUNK", 1)
    assert main(["tag", model, "corpus.txt", "-"]) == 0
    assert capfd.readouterr() == (text, "4 sentences, 8 tokens\n")
    set_stdin(TEXT)
    (folder / "-").write_text("no input")
    assert main(["tag", model, "-", "same.conll", "--quiet"]) == 0
    assert (folder / "same.conll").read_bytes() == text.encode()
    assert capfd.readouterr() == ("", "")


def test_json_lines_of_conllu(model, folder):
    (folder / "a.conllu.gz").write_bytes(gzip.compress(CONLLU.encode()))
    assert main(["tag", model, "a.conllu.gz", "out.jsonl"]) == 0
    rows = map(json.loads, (folder / "out.jsonl").read_text().splitlines())
    words = [["de", "le"], ["chat"]]
    found = Tagger.load(model).predict_entities(words, tags=True)
    assert [*rows] == [
        {
            "text": " ".join(sentence),
            "words": sentence,
            "tags": tags,
            "entities": [as_object(x) for x in entities],
        }
        for sentence, tags, entities in zip(words, *found, strict=True)
    ]


def as_object(entity):
    start, end, kind, probability = entity
    shared = {"type": kind, "start": start, "end": end}
    return {**shared, "probability": float(f"{probability:.6g}")}


RAW = "  The cat.  It sat\u00a0on \U0001f44d now!\n\n \t\nEnd.\r\nit is"


def test_places_in_raw_text(model, folder, capsys):
    pytest.importorskip("spacy", reason="It divides text into words.")
    (folder / "a.txt").write_bytes(RAW.encode())
    command = ["tag", model, "a.txt", "out.jsonl", "--raw"]
    for more in (["--threshold", "0.05"], ["--overwrite"]):
        assert main([*command, *more]) == 0
        assert capsys.readouterr().out.startswith("4 sentences, 13 tokens in")
        lines = (folder / "out.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        assert "".join(row["text"] for row in rows) == RAW
        assert [len(row["words"]) for row in rows] == [3, 6, 0, 0, 2, 2]
        number = 0
        for row in rows:
            assert Tagger.entities(row["tags"]) == [
                (x["start"], x["end"], x["type"]) for x in row["entities"]
            ]
            for x in row["entities"]:
                number += 1
                text = row["text"][x["start_char"] : x["end_char"]]
                words = row["words"][x["start"] : x["end"]]
                assert "".join(text.split()) == "".join(words)
                assert 0 < x["probability"] <= 1
        assert number > 2
    # It is labelled text, too.
    assert main(["evaluate", model, "out.jsonl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["f1"] == 1
    # Only the words of the text are sentences elsewhere.
    assert main(["tag", model, "a.txt", "out.conll", "--raw"]) == 0
    blocks = (folder / "out.conll").read_text().split("\n\n")
    assert [block.count("\n") + 1 for block in blocks] == [3, 6, 2, 2, 1]
    assert blocks[0].startswith("The\t")


def test_a_threshold(model, folder, fails):
    tagger = Tagger.load(model)
    sentences = [words for words in TOKENS if words]
    for threshold in ("0.02", "0.9"):
        command = ["tag", model, "corpus.txt", "out.conll", "--overwrite"]
        assert main([*command, "--threshold", threshold]) == 0
        found = (folder / "out.conll").read_text().split()[1::2]
        tags, _ = tagger.predict_entities(
            sentences, float(threshold), tags=True
        )
        assert found == [*itertools.chain(*tags)]
    command = ["tag", "english_pos", "corpus.txt", "a.conll"]
    assert "mark entities" in fails(*command, "--threshold", 0.5)
    for wrong in ("0", "1.5", "nan", "0,5"):
        with pytest.raises(SystemExit):
            main(["tag", model, "corpus.txt", "a", "--threshold", wrong])
    (folder / "empty.txt").write_text("")
    command[2] = "empty.txt"
    assert "mark entities" in fails(*command, "--threshold", 0.5)


@pytest.mark.filterwarnings("default:'")
def test_the_kind_of_the_text_is_found(model, folder, capfd):
    rest = "\t_" * 4 + "\t0\troot\t_\t_\n"
    conllu = f"1-2\tdu{rest}1\tde{rest}2\tle{rest}\n1\tchat{rest}"
    # Without an empty line, each line is a sentence.
    lines = "Ann B-PER\nran O\n. O\nBo B-PER\nslept O\n. O\n"
    for content, told, blocks in [
        (conllu, 0, [["de", "le"], ["chat"]]),
        (lines, 1, [x.split() for x in lines.splitlines()]),
    ]:
        (folder / "corpus.gz").write_bytes(gzip.compress(content.encode()))
        assert main(["tag", model, "corpus.gz", "-"]) == 0
        out, err = capfd.readouterr()
        found = [
            [y.split("\t")[0] for y in x.split("\n")] for x in out.split("\n\n")
        ]
        assert [list(filter(None, x)) for x in found[:-1]] == blocks
        assert err.count("warning: 'corpus.gz' looks like words with") == told


LABELLED = "# id = 1\nThe B-X O\ncat O B-X\n\n#end O O\n"
TAGGED = [["The", "cat"], ["#end"]]


@pytest.mark.parametrize("name", ["a.tsv", "a.txt", "-"])
def test_labelled_files(model, folder, capfd, set_stdin, name):
    """As conlleval reads them: the gold label and the tag are last."""
    text = LABELLED.replace(" ", "\t") if name == "a.tsv" else LABELLED
    text = f"{text}\n{text}"
    (folder / name).write_text(text)
    set_stdin(text)
    format = [] if name == "a.tsv" else ["--format", "conll"]
    assert main(["tag", model, name, "-", "--column", "2", *format]) == 0
    out, err = capfd.readouterr()
    the, cat, end = itertools.chain(*Tagger.load(model).predict(TAGGED))
    rows = f"The O B-X {the}\ncat B-X O {cat}\n\n#end O O {end}\n\n"
    assert out == rows * 2
    how = "words in column 1, labels in column 2, more labels in 3, 2 comments"
    assert f"{name}: {how}, the first in line 1\n" in err
    assert "4 sentences, 6 tokens" in err
    assert "is read as a labelled file" not in err


def test_a_labelled_file_is_found_by_its_content(model, folder, capfd):
    text = "Ann B-PER\nran O\n. O\n\nBo B-PER\nslept O\n. O\n"
    (folder / "a.txt").write_text(text)
    assert main(["tag", model, "a.txt", "out.jsonl"]) == 0
    rows = map(json.loads, (folder / "out.jsonl").read_text().splitlines())
    assert [(x["text"], x["words"]) for x in rows] == [
        ("Ann ran .", ["Ann", "ran", "."]),
        ("Bo slept .", ["Bo", "slept", "."]),
    ]
    assert "pass --format text" in capfd.readouterr().err
    (folder / "a.tsv").write_text("New York\t\tO\nran\tx\tO\n")
    assert main(["tag", model, "a.tsv", "-"]) == 0
    first = capfd.readouterr().out.splitlines()[0]
    assert first.rpartition("\t")[0] == "New York\t_\tO"


def test_entities_only_of_a_scheme(folder):
    assert main(["tag", "english_pos", "corpus.txt", "out.jsonl"]) == 0
    rows = map(json.loads, (folder / "out.jsonl").read_text().splitlines())
    assert {tuple(row) for row in rows} == {("text", "words", "tags")}


@pytest.mark.filterwarnings("always:punctuation is attached")
def test_attached_punctuation_is_told(model, folder, capsys, set_stdin):
    text = "They can fish. Didn't you?\n" * 3
    (folder / "a.txt").write_text(text)
    set_stdin(text)
    for source in ("a.txt", "-"):
        assert main(["tag", model, source, "out", "--overwrite"]) == 0
        lines = capsys.readouterr().err.splitlines()
        assert [line for line in lines if "warning" in line] == [
            "keras-elmo: warning: punctuation is attached to words, which "
            "models take for other words: 'fish.', 'you?'. Split it off, or "
            "pass --raw."
        ]
    pytest.importorskip("spacy")
    (folder / "raw.txt").write_text("Acme Inc. fell.\n")
    assert main(["tag", model, "raw.txt", "out.conll", "--raw"]) == 0
    assert "warning" not in capsys.readouterr().err


def test_raw_text_without_spacy(model, folder, fails, monkeypatch):
    raw_text._pipeline.cache_clear()
    monkeypatch.setitem(sys.modules, "spacy", None)
    message = fails("tag", model, "corpus.txt", "out.conll", "--raw")
    assert "spacy: pip install spacy" in message
    assert not (folder / "out.conll").exists()


def test_errors_leave_no_output(model, folder, fails):
    (folder / "latin.txt").write_bytes(b"caf\xe9 .\n")
    (folder / "bad.conll").write_text("a O\nb\n")
    before = sorted(folder.iterdir())
    for arguments, message in [
        ("none.txt out", "There is no corpus file 'none.txt'"),
        ("latin.txt out --raw", "in line 1, at byte 3"),
        (
            "bad.conll out",
            "If each line of INPUT is a sentence, pass --format text.",
        ),
        ("none.conll out --format conll", "no labelled text file 'none.conll'"),
        ("corpus.txt out --column 2", "Pass --format conll"),
        ("corpus.txt out --word-column 2", "Pass --format conll"),
        ("corpus.txt out --language de", "--language is for --raw."),
        ("corpus.txt out --raw --language q", "one of ['af'"),
        ("corpus.txt out.jsonl.gz", "JSON Lines if its name ends"),
        ("corpus.txt out.JSONL", "JSON Lines if its name ends"),
        ("rows.jsonl out", "and not JSON Lines. Write its texts"),
        (
            "corpus.txt corpus.txt",
            "'corpus.txt' exists. To replace it, pass --overwrite.",
        ),
    ]:
        assert message in fails("tag", model, *arguments.split())
        assert sorted(folder.iterdir()) == before
    for model, message in [
        ("english_po", "Expected one of ['english_names', 'english_pos']"),
        (
            "english_mini",
            "A tagger is one of ['english_pos', 'english_names'], or a .keras "
            "file of a Keras model that returns tags. To make one from "
            "labelled sentences, use `Tagger.train` or `keras-elmo "
            "train-tagger`. Received: 'english_mini', a biLM in the format of",
        ),
    ]:
        assert message in fails("tag", model, "corpus.txt", "out")
    assert (folder / "corpus.txt").read_bytes() == TEXT.encode()
