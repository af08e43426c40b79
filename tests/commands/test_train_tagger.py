"""The command `keras-elmo train-tagger`."""

import json
import re
import signal
import subprocess
import sys
from unittest import mock

import keras
import pytest
from conftest import ROOT
from tagging.small_taggers import crf_tagger

from keras_elmo import Tagger
from keras_elmo.text import read_conll

DATA = ROOT / "examples/ner_data"
GIVEN = {"train.conll", "dev.conll"}
NAMES = ["O", "B-B", "I-B", "B-D", "I-D"]
TRAINING = ["train-tagger", "train.conll", "ner.keras", "--dev", "dev.conll"]


@pytest.fixture(autouse=True)
def data(folder):
    """Files of short sentences that have entities, in the current folder."""
    for name in GIVEN:
        blocks = (DATA / name).read_text("utf-8").split("\n\n")
        some = [x for x in blocks if "\tB-" in x and x.count("\n") < 12]
        (folder / name).write_text("\n\n".join(some) + "\n")


@pytest.fixture
def train(monkeypatch):
    """In place of `Tagger.train`: it returns a tagger at once."""
    tagger = Tagger(crf_tagger({"tag_names": NAMES}))
    train = mock.Mock(return_value=tagger)
    monkeypatch.setattr(Tagger, "train", train)
    return train


def test_a_tagger_of_entities(run, monkeypatch):
    monkeypatch.setitem(Tagger.train.__kwdefaults__, "epochs", 5)
    out, _ = run(*TRAINING)
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
    scores = Tagger.load("ner.keras").evaluate(*dev)
    assert scores["f1"] > 0.6
    right = f"dev.conll: {scores['accuracy']:.1%} of the labels are right\n"
    assert right in out
    assert re.search(rf"\nall +{scores['f1']:.1%} .* {number}\nLOC  ", out)
    assert re.search(r"\n'ner.keras' \(27\.\d MB\)\n$", out)


def test_options_are_passed_on_and_nothing_is_shown_if_quiet(
    folder, train, shows
):
    (folder / "a.conll").write_text("a X A O\nb X B O\n")
    # Enough for a progress bar of `Tagger.predict`.
    (folder / "dev.conll").write_text("a X A O\n\n" * 1700)
    command = "train-tagger a.conll a.keras --dev dev.conll --column 3"
    command += " --word-column 2 --elmo model --word-vectors glove.txt"
    command += " --max-labels 9 --overwrite --quiet --seed"
    numbers = []
    for seed in (1, 1, 2):
        assert shows(*command.split(), seed) == []
        numbers.append(keras.random.uniform(()))
    assert numbers[0] == numbers[1] != numbers[2]
    arguments, options = train.call_args
    dev = [["X"]] * 1700, [["A"]] * 1700
    assert arguments == ([["X", "X"]], [["A", "B"]], dev)
    expected = {"word_vectors": "glove.txt", "max_labels": 9, "verbose": 0}
    expected["elmo"] = "model"
    assert options == expected
    assert Tagger.load("a.keras").tag_names == NAMES


@pytest.mark.filterwarnings("always::UserWarning")
def test_scores_of_sentences_that_are_trained_on(folder, train, run):
    rows = [f"a{i} B-B\n" + "b O\n" * 5 for i in range(30)]
    (folder / "train.conll").write_text("\n".join(rows[:20]))
    (folder / "dev.conll").write_text("\n".join(rows[17:]))
    (folder / "test.conll").write_text("\n".join([*rows[12:18], "a O\n"]))
    out, err = run(*TRAINING, "--test", "test.conll")
    assert "6 of 6 test sentences are in TRAIN, too, " in err
    assert "1 of 6 test sentences are in --dev, too, " in err
    assert "test.conll: " in out and "dev.conll: " in out
    out, err = run(*TRAINING, "--test", "train.conll", "--overwrite")
    assert "20 of 20 test sentences are in TRAIN, too, " in err
    assert "train.conll (training sentences): " in out and "dev.conll: " in out


@pytest.mark.filterwarnings("always::UserWarning")
def test_annotated_text_and_what_says_nothing(folder, train, run):
    """No labels are out of reach, and no useless score has no comment."""
    pytest.importorskip("spacy", reason="It divides text into words.")
    line = {"text": "Ann ran. Bo ran.", "label": [[0, 3, "B"], [9, 11, "B"]]}
    (folder / "a.jsonl").write_text("\n".join([json.dumps(line)] * 9))
    (folder / "o.conll").write_text("Ann O\nran O\n")
    (folder / "c.conll").write_text("Ann B-B\nran B-C\n")
    command = "train-tagger a.jsonl ner.keras --dev o.conll --test c.conll"
    out, err = run(*command.split(), "--language", "de")
    assert "a.jsonl: 18 sentences, 54 words, longest sentence 3 words\n" in out
    assert "  spaCy's rules (de)\n  2 labels, in BIO: O 36, B-B 18\n" in out
    assert "  first sentence: Ann/B-B ran/O ./O\n" in out
    assert "tagger cannot predict: 'C' (line 2).\n" in err
    assert "There are no entities in this file, so its scores do not" in out
    assert "c.conll: " in out


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


def test_errors_leave_no_output(folder, train, fails):
    for name, text in {
        "bmes.conll": "a B-X\nb M-X\nc E-X\n\nd S-X\n",
        "bioes.conll": "a S-Y\nb O\n",
        "o.conll": "a O\nb O\n\nc O\n",
        "head.conll": "x y\na O\nb B-X\n\nc O\n",
        "a.jsonl": "",
        "old.keras": "old",
    }.items():
        (folder / name).write_text(text)
    before = sorted(folder.iterdir())
    for arguments, message in [
        ("none.conll a.keras", "no labelled text file 'none.conll'"),
        ("bmes.conll a.keras", "line 2: The labels mark .* Replace 'M-X'"),
        ("dev.conll a.keras --dev bmes.conll", "'bmes.conll', line 2: .* 'I-X"),
        ("dev.conll a.keras --test bioes.conll", r"'Y' \(line 1\). It knows o"),
        ("o.conll a.keras", "column. Received: only 'O', words in column 1, "),
        ("head.conll a.keras", "line 1: Expected labels .*. Is this line a he"),
        ("a.jsonl a.keras --column 2", "are not for .jsonl"),
        ("dev.conll old.keras", "'old.keras' exists. To replace it, pass"),
    ]:
        told = fails("train-tagger", *arguments.split(), "--quiet")
        assert re.search(message, told), told
        assert sorted(folder.iterdir()) == before
    assert (folder / "old.keras").read_text() == "old"
    assert not train.called


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
