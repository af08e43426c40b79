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
    # More than are tagged at once.
    (tmp_path / "many.conll").write_text(f"{TEXT}\n" * 600)
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
    command = ["evaluate", "english_pos", "many.conll", "--json", "--quiet"]
    assert main(command) == 0
    out, err = capsys.readouterr()
    expected = Tagger.load("english_pos").evaluate(*read_conll("many.conll"))
    assert json.loads(out) == expected and err == ""


@pytest.mark.filterwarnings("always::UserWarning")
def test_labels_that_the_tagger_does_not_have(folder, capsys, fails):
    (folder / "more.conll").write_text(f"{TEXT}Oh EXCLAMATION\n")
    assert main(["evaluate", "english_pos", "more.conll"]) == 0
    told = "warning: 'more.conll' has labels that the tagger cannot predict: "
    assert f"{told}'EXCLAMATION' (line 7)." in capsys.readouterr().err
    (folder / "names.conll").write_text("Ann B-PER\nran O\n")
    told = "predict: 'B-PER' (line 1), 'O' (line 2). It knows only ADJ, ADP"
    assert told in fails("evaluate", "english_pos", "names.conll", "--quiet")
