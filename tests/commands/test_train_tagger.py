"""The command `keras-elmo train-tagger`."""

import json
import re
import signal
import subprocess
import sys

import keras
import pytest
from conftest import ROOT
from small_models import make_shallow_elmo

from keras_elmo import CRF
from keras_elmo import CRFDecoder
from keras_elmo import Tagger
from keras_elmo.commands.main import main
from keras_elmo.text import read_conll

DATA = ROOT / "examples/ner_data"
GIVEN = {"train.conll", "dev.conll"}
TRAINING = ["train-tagger", "train.conll", "ner.keras", "--dev", "dev.conll"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder, with short sentences that have entities."""
    monkeypatch.chdir(tmp_path)
    for name in ("train", "dev"):
        blocks = (DATA / f"{name}.conll").read_text("utf-8").split("\n\n")
        some = [x for x in blocks if "\tB-" in x and x.count("\n") < 12]
        (tmp_path / f"{name}.conll").write_text("\n\n".join(some) + "\n")
    return tmp_path


@pytest.fixture
def trainings(monkeypatch):
    """The arguments of `Tagger.train`, which returns a tagger at once."""
    calls = []
    ids, elmo = keras.Input((None, 12), dtype="int32"), make_shallow_elmo()
    scores = CRF(2)(keras.layers.Dense(2)(elmo(ids)))
    tags = CRFDecoder(tag_names=["O", "B-B"], name="tags")(scores)
    tagger = Tagger(keras.Model(ids, tags))

    def train(*arguments, **options):
        calls.append((arguments, options))
        return tagger

    monkeypatch.setattr(Tagger, "train", train)
    return calls


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
    scores = Tagger.load("ner.keras").evaluate(*dev)
    assert scores["f1"] > 0.6
    right = f"dev.conll: {scores['accuracy']:.1%} of the labels are right\n"
    assert right in out
    assert re.search(rf"\nall +{scores['f1']:.1%} .* {number}\nLOC  ", out)
    assert re.search(r"\n'ner.keras' \(27\.\d MB\)\n$", out)


def test_options_are_passed_on_and_nothing_is_shown_if_quiet(
    folder, trainings, capsys
):
    (folder / "a.conll").write_text("a X A O\nb X B O\n")
    # Enough for a progress bar of `Tagger.predict`.
    (folder / "dev.conll").write_text("a X A O\n\n" * 1700)
    command = ["train-tagger", "a.conll", "a.keras", "--dev", "dev.conll"]
    command += ["--column", "3", "--word-column", "2", "--elmo", "model"]
    command += ["--word-vectors", "glove.txt", "--max-labels", "9"]
    for seed in (1, 1, 2):
        flags = ["--seed", str(seed), "--overwrite", "--quiet"]
        assert main([*command, *flags]) == 0
        trainings.append(keras.random.uniform(()))
    assert capsys.readouterr() == ("", "")
    (arguments, options), a, _, b, _, c = trainings
    dev = [["X"]] * 1700, [["A"]] * 1700
    assert arguments == ([["X", "X"]], [["A", "B"]], dev, "model")
    expected = {"word_vectors": "glove.txt", "max_labels": 9, "verbose": 0}
    assert options == expected
    assert a == b != c
    assert Tagger.load("a.keras").tag_names == ["O", "B-B"]


@pytest.mark.filterwarnings("always::UserWarning")
def test_annotated_text_and_what_says_nothing(folder, trainings, capfd):
    """No labels are out of reach, and no useless score has no comment."""
    pytest.importorskip("spacy", reason="It divides text into words.")
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("none.conll a.keras", "no labelled text file 'none.conll'"),
        ("dev.conll a.keras --dev bad.conll", "line 3: expected 2 columns"),
        ("dev.conll a.keras --test bad.conll", "line 3: expected 2 columns"),
        ("dev.conll a.keras --column 7", "--column must be one of its columns"),
        ("bmes.conll a.keras", "line 2: The labels mark .* Replace 'M-X'"),
        (
            "dev.conll a.keras --dev bmes.conll",
            "'bmes.conll', line 2: Each tag must be .*; write 'I-X'. Rec",
        ),
        (
            "dev.conll a.keras --test bioes.conll",
            r"predict: 'Y' \(line 1\). It knows only LOC, O",
        ),
        (
            "o.conll a.keras",
            "'o.conll' must have two labels or more. Is it the right column. "
            "Received: only 'O', words in column 1, labels in column 2",
        ),
        ("head.conll a.keras", "line 1: Expected labels .*. Is this line a he"),
        ("a.jsonl a.keras --column 2", "are not for .jsonl"),
        ("dev.conll old.keras", "'old.keras' exists. To replace it, pass"),
        ("dev.conll none/a.keras", "No such file"),
    ],
)
def test_errors_leave_no_output(folder, trainings, fails, arguments, message):
    for name, text in {
        "bad.conll": "a O\n\nb\n",
        "bmes.conll": "a B-X\nb M-X\nc E-X\n\nd S-X\n",
        "bioes.conll": "a S-Y\nb O\n",
        "o.conll": "a O\nb O\n\nc O\n",
        "head.conll": "x y\na O\nb B-X\n\nc O\n",
        "a.jsonl": "",
        "old.keras": "old",
    }.items():
        (folder / name).write_text(text)
    before = sorted(folder.iterdir())
    told = fails("train-tagger", *arguments.split(), "--quiet")
    assert re.search(message, told)
    assert sorted(folder.iterdir()) == before
    assert (folder / "old.keras").read_text() == "old"
    assert not trainings


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
