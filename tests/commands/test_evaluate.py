"""The command `keras-elmo evaluate`."""

import json

import pytest

from keras_elmo import Tagger
from keras_elmo.commands.main import main
from keras_elmo.text import read_conll

TEXT = "They PRON\ncan AUX\nfish NOUN\n\nYes INTJ\n! PUNCT\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder, with labelled sentences."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test.conll").write_text(TEXT)
    return tmp_path


def test_scores_are_those_of_tagger_evaluate(capsys):
    assert main(["evaluate", "english_pos", "test.conll"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "test.conll: 80.0% of the labels are right"
    assert lines[1].split() == ["F1", "precision", "recall", "number"]
    assert ["AUX", "100.0%", "100.0%", "100.0%", "1"] in map(str.split, lines)
    assert ["NOUN", "0.0%", "0.0%", "0.0%", "1"] in map(str.split, lines)
    assert "5 labels, in no scheme, so scored word by word: PRON 1, " in err
    assert "first sentence: They/PRON can/AUX fish/NOUN\n" in err
    command = ["evaluate", "english_pos", "test.conll", "--json", "--quiet"]
    assert main(command) == 0
    out, err = capsys.readouterr()
    expected = Tagger.load("english_pos").evaluate(*read_conll("test.conll"))
    assert json.loads(out) == expected and err == ""


@pytest.mark.exhaustive
def test_a_treebank(shared, capsys):
    path = str(shared / "data/ud_english_ewt/dev.conllu")
    assert main(["evaluate", "english_pos", path, "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert 0.95 < scores["accuracy"] < 0.98


@pytest.mark.filterwarnings("always::UserWarning")
def test_labels_that_the_tagger_does_not_have(folder, capsys):
    (folder / "more.conll").write_text(f"{TEXT}Oh EXCLAMATION\n")
    assert main(["evaluate", "english_pos", "more.conll"]) == 0
    told = "warning: 'more.conll' has labels that the tagger cannot predict: "
    assert f"{told}'EXCLAMATION' (line 7)." in capsys.readouterr().err


def test_errors(folder, fails):
    (folder / "names.conll").write_text("Ann B-PER\nran O\n")
    (folder / "bad.conll").write_text("a NOUN\n\nb\n")
    for arguments, message in [
        (("english_pos", "none.conll"), "no labelled text file 'none.conll'"),
        (("english_pos", "bad.conll"), "'bad.conll', line 3: expected 2 col"),
        (("english_pos", "test.conll", "--column", "3"), "--column must be"),
        (("english_mini", "test.conll"), "A tagger is one of"),
        (
            ("english_pos", "names.conll"),
            "predict: 'B-PER' (line 1), 'O' (line 2). It knows only ADJ, ADP",
        ),
    ]:
        assert message in fails("evaluate", *arguments, "--quiet")
