"""The command `keras-elmo train-tagger`."""

import json
import re
import signal
import subprocess
import sys

import pytest
from conftest import ROOT

from keras_elmo import Tagger
from keras_elmo.commands.main import main
from keras_elmo.text import read_conll

DATA = ROOT / "examples/ner_data"
GIVEN = {"train.conll", "dev.conll", "few.conll"}
TRAINING = ["train-tagger", "train.conll", "ner.keras", "--dev", "dev.conll"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder, with short sentences that have entities."""
    monkeypatch.chdir(tmp_path)
    for name in ("train", "dev"):
        blocks = (DATA / f"{name}.conll").read_text("utf-8").split("\n\n")
        some = [x for x in blocks if "\tB-" in x and x.count("\n") < 12]
        (tmp_path / f"{name}.conll").write_text("\n\n".join(some) + "\n")
        (tmp_path / "few.conll").write_text("\n\n".join(some[:60]) + "\n")
    return tmp_path


def test_a_tagger_of_entities(capsys, monkeypatch):
    monkeypatch.setitem(Tagger.train.__kwdefaults__, "epochs", 5)
    assert main(TRAINING) == 0
    out = capsys.readouterr().out
    words = sum(map(len, read_conll("train.conll")[0]))
    dev = read_conll("dev.conll")
    number = sum(tag.startswith("B-") for row in dev[1] for tag in row)
    first, labels = (x[0] for x in read_conll("train.conll"))
    shown = " ".join(map("/".join, zip(first, labels)))
    pattern = (
        rf"train.conll: [\d,]+ sentences, {words:,} words, longest .* words\n"
        r"  words in column 1, labels in column 2\n"
        r"  7 labels, in BIO: O [\d,]+, .*\n"
        rf"  first sentence: {re.escape(shown)[:60]}.*\n"
    )
    assert re.search(pattern, out)
    assert re.search(r"Epoch 5/5\n.* - val_f1: 0\.\d", out)
    assert re.search(r"\nThe best epoch is \d: val_f1 0\.\d{4}\n", out)
    scores = Tagger.load("ner.keras").evaluate(*dev)
    assert scores["f1"] > 0.6
    right = f"dev.conll: {scores['accuracy']:.1%} of the labels are right\n"
    assert right in out
    assert re.search(rf"\nall +{scores['f1']:.1%} .* {number}\nLOC  ", out)
    assert re.search(r"\n'ner.keras' \(27\.\d MB\)\n$", out)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore:The best val_accuracy")
def test_nothing_is_shown_if_quiet(folder, capsys, monkeypatch):
    monkeypatch.setitem(Tagger.train.__kwdefaults__, "epochs", 2)
    (folder / "pos.conll").write_text("a X A O\nb X B O\n\n" * 9)
    # Enough for a progress bar of `Tagger.predict`.
    (folder / "dev.conll").write_text("a X A O\n\n" * 1700)
    command = ["train-tagger", "pos.conll", "pos.keras", "--column", "3"]
    command += ["--dev", "dev.conll"]
    (folder / "glove.txt").write_text("a 1.5 2\nb -1 0\n")
    command += ["--word-vectors", "glove.txt"]
    assert main([*command, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    tagger = Tagger.load("pos.keras")
    assert tagger.tag_names == ["A", "B"]
    assert tagger.model.get_layer("word_vectors").projection_dim == 2


def test_errors_leave_no_output(folder, fails):
    (folder / "bad.conll").write_text("a O\n\nb\n")
    (folder / "latin.conll").write_bytes(b"caf\xe9 O\n")
    (folder / "count.tsv").write_text("1 a O\n2 b B-X\n\n1 c O\n")
    (folder / "first.conll").write_text("O a\nB-X b\n\nO c\n")
    (folder / "bmes.conll").write_text("a B-X\nb M-X\nc E-X\n\nd S-X\n")
    (folder / "bioes.conll").write_text("a S-Y\nb O\n")
    (folder / "o.conll").write_text("a O\nb O\n\nc O\n")
    (folder / "head.conll").write_text("x y\na O\nb B-X\n\nc O\n")
    (folder / "one.conll").write_text("a O\nb B-X\nc O\n")
    (folder / "a.jsonl").write_text("")
    (folder / "old.keras").write_text("old")
    before = sorted(folder.iterdir())
    for arguments, message in [
        (("none.conll", "a.keras"), "no labelled text file 'none.conll'"),
        (("bad.conll", "a.keras"), "'bad.conll', line 3: expected 2 columns"),
        (("latin.conll", "a.keras"), "in line 1, at byte 3"),
        (("few.conll", "a.keras", "--dev", "bad.conll"), "line 3: expected"),
        (
            ("few.conll", "a.keras", "--word-vectors", "few.conll"),
            "'few.conll', line 1: a file of word vectors must have a word",
        ),
        (("few.conll", "a.keras", "--test", "bad.conll"), "line 3: expected"),
        (
            ("few.conll", "a.keras", "--column", "7"),
            "line 1: --column must be one of its columns",
        ),
        (("count.tsv", "a.keras"), "in 1, 2, 3. Pass --word-column 2. Rec"),
        (
            ("first.conll", "a.keras"),
            "Pass --column 1 and --word-column 2. Rec",
        ),
        (("bmes.conll", "a.keras"), "line 2: The labels mark .* Replace 'M-X'"),
        (
            ("few.conll", "a.keras", "--dev", "bmes.conll"),
            "'bmes.conll', line 2: Each tag must be .*; write 'I-X'. Rec",
        ),
        (
            ("few.conll", "a.keras", "--test", "bioes.conll"),
            "predict: 'Y' (line 1). It knows only LOC, O",
        ),
        (
            ("o.conll", "a.keras"),
            "'o.conll' must have two labels or more. Is it the right column? "
            "Received: only 'O', words in column 1, labels in column 2",
        ),
        (
            ("head.conll", "a.keras"),
            "line 1: Expected labels .*. Is this line",
        ),
        (
            ("one.conll", "a.keras"),
            "Received, .*: 1 and 0. .* an empty line",
        ),
        (("a.jsonl", "a.keras", "--column", "2"), "are not for .jsonl"),
        (
            ("few.conll", "a.keras", "--max-labels", "5"),
            "at most 5 labels. To allow more, pass --max-labels 7",
        ),
        (("few.conll", "old.keras"), "'old.keras' exists. To replace it, pass"),
        (("few.conll", "a.h5"), "The file's name must end in .keras"),
        (("few.conll", "none/a.keras"), "No such file"),
        (
            ("few.conll", "a.keras", "--elmo", "english_min"),
            "Did you mean 'english_mini'",
        ),
    ]:
        told = fails("train-tagger", *arguments, "--quiet")
        assert re.search(re.escape(message).replace(r"\.\*", ".*"), told)
        assert sorted(folder.iterdir()) == before
    assert (folder / "old.keras").read_text() == "old"


def test_a_file_that_appears_in_the_training(folder, monkeypatch, fails):
    """The tagger of hours is kept, and the error says where."""

    def train(*_, **__):
        (folder / "ner.keras").write_text("mine")
        return Tagger.load("english_pos")

    monkeypatch.setattr(Tagger, "train", train)
    told = fails(*TRAINING, "--quiet")
    (kept,) = {x.name for x in folder.iterdir()} - GIVEN - {"ner.keras"}
    assert told.endswith(f"complete, in '{kept}'.")
    assert "NOUN" in Tagger.load(kept).tag_names
    assert (folder / "ner.keras").read_text() == "mine"


@pytest.mark.filterwarnings("always::UserWarning")
def test_annotated_text_and_what_says_nothing(folder, capfd, monkeypatch):
    """No labels are out of reach, and no useless score has no comment."""
    pytest.importorskip("spacy", reason="It divides text into words.")
    monkeypatch.setitem(Tagger.train.__kwdefaults__, "epochs", 2)
    line = {"text": "Ann ran. Bo ran.", "label": [[0, 3, "B"], [9, 11, "B"]]}
    (folder / "a.jsonl").write_text("\n".join([json.dumps(line)] * 9))
    (folder / "o.conll").write_text("Ann O\nran O\n")
    (folder / "c.conll").write_text("Ann B-B\nran B-C\n")
    command = ["train-tagger", "a.jsonl", "ner.keras"]
    command += ["--dev", "o.conll", "--test", "c.conll", "--language", "de"]
    assert main(command) == 0
    out, err = capfd.readouterr()
    assert "a.jsonl: 18 sentences, 54 words, longest sentence 3 words\n" in out
    assert "  spaCy's rules (de)\n  2 labels, in BIO: O 36, B-B 18\n" in out
    assert "  first sentence: Ann/B-B ran/O ./O\n" in out
    assert "The best epoch is 2: loss " in out
    assert "warning: The label of all words to validate on is O" in err
    assert "tagger cannot predict: 'C' (line 2).\n" in err
    assert "There are no entities in this file, so its scores do not" in out
    assert Tagger.load("ner.keras").tag_names == ["O", "B-B"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_training_is_ended(folder, number):
    """Ctrl-C keeps the best tagger; a kill leaves nothing behind."""
    process = subprocess.Popen(
        [sys.executable, "-m", "keras_elmo", *TRAINING],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    epoch = 2 if number == signal.SIGKILL else 4
    for line in process.stdout:
        if line.startswith(f"Epoch {epoch}/"):
            break
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    names = {path.name for path in folder.iterdir()} - GIVEN
    if number == signal.SIGKILL:
        assert names == set()
        return
    assert process.returncode == 0
    assert "warning: The training was interrupted. The tagger is the " in err
    assert names == {"ner.keras"} and "of the labels are right" in out
    scores = Tagger.load("ner.keras").evaluate(*read_conll("dev.conll"))
    assert scores["f1"] > 0.3
