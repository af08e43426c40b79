"""The command `keras-elmo train-tagger`."""

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
    assert f"train.conll: {words:,} words, scheme of the labels: BIO\n" in out
    assert re.search(r"Epoch 5/5\n.* - val_f1: 0\.\d", out)
    scores = Tagger.load("ner.keras").evaluate(*dev)
    assert scores["f1"] > 0.6
    right = f"dev.conll: {scores['accuracy']:.1%} of the labels are right\n"
    assert right in out
    assert re.search(rf"\nall +{scores['f1']:.1%} .* {number}\nLOC  ", out)
    assert re.search(r"\n'ner.keras' \(23\.\d MB\)\n$", out)


@pytest.mark.exhaustive
def test_nothing_is_shown_if_quiet(folder, capsys, monkeypatch):
    monkeypatch.setitem(Tagger.train.__kwdefaults__, "epochs", 2)
    (folder / "pos.conll").write_text("a X A O\nb X B O\n\n" * 9)
    # Enough for a progress bar of `Tagger.predict`.
    (folder / "dev.conll").write_text("a X A O\n\n" * 1700)
    command = ["train-tagger", "pos.conll", "pos.keras", "--column", "3"]
    command += ["--dev", "dev.conll"]
    assert main([*command, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert Tagger.load("pos.keras").tag_names == ["A", "B"]


def test_errors_leave_no_output(folder, fails):
    (folder / "bad.conll").write_text("a O\n\nb\n")
    (folder / "latin.conll").write_bytes(b"caf\xe9 O\n")
    (folder / "old.keras").write_text("old")
    before = sorted(folder.iterdir())
    for arguments, message in [
        (("none.conll", "a.keras"), "no CoNLL file 'none.conll'"),
        (("bad.conll", "a.keras"), "'bad.conll', line 3: expected 2 columns"),
        (("latin.conll", "a.keras"), "in line 1, at byte 3"),
        (("few.conll", "a.keras", "--dev", "bad.conll"), "line 3: expected"),
        (("few.conll", "a.keras", "--test", "bad.conll"), "line 3: expected"),
        (("few.conll", "a.keras", "--column", "7"), "label in column 7"),
        (("few.conll", "old.keras"), "'old.keras' exists. To replace it, pass"),
        (("few.conll", "a.h5"), "The file's name must end in .keras"),
        (("few.conll", "none/a.keras"), "No such file"),
        (
            ("few.conll", "a.keras", "--elmo", "english_min"),
            "Did you mean 'english_mini'",
        ),
    ]:
        assert message in fails("train-tagger", *arguments, "--quiet")
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
