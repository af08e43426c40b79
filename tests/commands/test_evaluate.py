"""The command `keras-elmo evaluate`."""

import json

import pytest

from keras_elmo import Tagger
from keras_elmo.text import read_conll

TEXT = "They PRON\ncan AUX\nfish NOUN\n\nYes INTJ\n! PUNCT\n"


def test_scores_are_those_of_tagger_evaluate(folder, run, shows):
    (folder / "test.conll").write_text(TEXT)
    out, err = run("evaluate", "english_pos", "test.conll")
    lines = out.splitlines()
    assert lines[0] == "test.conll: 80.0% of the labels are right"
    assert lines[1].split() == ["F1", "precision", "recall", "number"]
    assert ["AUX", "100.0%", "100.0%", "100.0%", "1"] in map(str.split, lines)
    assert ["NOUN", "0.0%", "0.0%", "0.0%", "1"] in map(str.split, lines)
    assert "5 labels, in no scheme, so scored word by word: PRON 1, " in err
    assert "first sentence: They/PRON can/AUX fish/NOUN\n" in err
    # More than are tagged at once.
    (folder / "many.conll").write_text(f"{TEXT}\n" * 513)
    command = "evaluate", "english_pos", "many.conll", "--json", "--quiet"
    (line,) = shows(*command)
    expected = Tagger.load("english_pos").evaluate(*read_conll("many.conll"))
    assert json.loads(line) == expected


@pytest.mark.filterwarnings("always::UserWarning")
def test_labels_that_the_tagger_does_not_have(folder, run, fails):
    (folder / "more.conll").write_text(f"{TEXT}Oh EXCLAMATION\n")
    told = "warning: 'more.conll' has labels that the tagger cannot predict: "
    said = run("evaluate", "english_pos", "more.conll").err
    assert f"{told}'EXCLAMATION' (line 7)." in said
    (folder / "names.conll").write_text("Ann B-PER\nran O\n")
    told = "predict: 'B-PER' (line 1), 'O' (line 2). It knows only ADJ, ADP"
    assert told in fails("evaluate", "english_pos", "names.conll", "--quiet")
    (folder / "types.conll").write_text("Ann PER\nran O\n")
    said = fails("evaluate", "english_names", "types.conll", "--quiet")
    assert "line 1: expected labels of entities, as the tagger has" in said
    assert "write B-PER for the first word of a PER, I-PER for its" in said
