"""The command `keras-elmo check-labels`."""

import json
import re
import signal
import subprocess
import sys
import time
from unittest import mock

import keras
import pytest
from conftest import ROOT

from keras_elmo.tagging import label_checks
from keras_elmo.tagging.label_checks import LabelIssue

TEXT = """# a sentence
He O
met O
Ann B-PER
Lee I-PER

Hi O
Bo O

Hi O
Bo B-PER
"""
ISSUES = [
    LabelIssue(1, 1, 2, "missing", ["O"], 0.004, ["B-PER"], 0.99123456789),
    LabelIssue(
        0,
        1,
        4,
        "edge",
        ["O", "B-PER", "I-PER"],
        0.1,
        ["B-ORG", "I-ORG", "O"],
        0.5,
    ),
]


@pytest.fixture
def check(monkeypatch):
    """In place of `check_labels`: it returns issues at once."""

    def check(*_, **__):
        print("a bar")
        return ISSUES

    check = mock.Mock(side_effect=check)
    monkeypatch.setattr(label_checks, "check_labels", check)
    return check


@pytest.fixture(autouse=True)
def train(folder):
    (folder / "train.conll").write_text(TEXT)


REPORT = """train.conll, line 8: missing
  Hi [[Bo]]
  labelled no entity (0.4%), the tagger finds PER 'Bo' (99.1%)

train.conll, line 3: edge
  He [[met Ann Lee]]
  labelled PER 'Ann Lee' (10.0%), the tagger finds ORG 'met Ann' (50.0%)

train.conll: 2 equal sentences with different labels
  Hi [[Bo]]
  O: line 8
  B-PER: line 11

"""


def test_a_report_to_read(folder, check, run):
    out, err = run("check-labels", "train.conll")
    assert out == REPORT
    assert "train.conll: 3 sentences, 8 words, longest" in err
    assert "\na bar\n" in err
    told = "2 of 2 places where the tagger differs, and 1 group of equal"
    assert f"{told} sentences with different labels\n" in err
    options = "--limit", 1, "--quiet"
    assert run("check-labels", "train.conll", "a.txt", *options).out == ""
    report = (folder / "a.txt").read_text()
    assert report == REPORT.replace(REPORT.split("\n\n")[1] + "\n\n", "")


def test_a_report_for_programs(folder, check, run):
    run("check-labels", "train.conll", "a.jsonl")
    rows = [*map(json.loads, (folder / "a.jsonl").read_text().splitlines())]
    hi = {
        "words": ["Hi", "Bo"],
        "start_word": 1,
        "end_word": 2,
        "text": "Hi Bo",
        "start_char": 3,
        "end_char": 5,
    }
    assert rows[0] == {
        "kind": "missing",
        "line": 8,
        **hi,
        "labels": ["O"],
        "label_probability": 0.004,
        "suggested": ["B-PER"],
        "suggested_probability": 0.991235,
    }
    assert [row["kind"] for row in rows] == ["missing", "edge", "repeated"]
    assert rows[2]["places"] == [
        {"line": 8, **hi, "labels": ["O"]},
        {"line": 11, **hi, "labels": ["B-PER"]},
    ]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_places_in_annotation_tools(folder, check, run, name):
    pytest.importorskip("spacy", reason="It divides text into words.")
    text = "\U0001f600\nHe met  Ann."
    if name == "a.jsonl":
        rows = {"text": text, "label": [[10, 13, "PER"]]}
    else:
        value = {"start": 10, "end": 13, "labels": ["PER"]}
        annotations = [{"result": [{"value": value}]}]
        rows = [{"id": 77, "data": {"text": text}, "annotations": annotations}]
    (folder / name).write_text(json.dumps(rows))
    issue = "type", ["B-PER"], 0.2, ["B-ORG"], 0.7
    check.side_effect = [[LabelIssue(1, 2, 3, *issue)]] * 2
    (line,) = (
        run("check-labels", name, "-", "--output-format", "jsonl")
        .out[:-1]
        .split("\n")
    )
    row = json.loads(line)
    place = {"line": 1} if name == "a.jsonl" else {"task": 77}
    assert {key: row[key] for key in place} == place
    assert row["text"] == text
    assert text[row["start_char"] : row["end_char"]] == "Ann"
    out, _ = run("check-labels", name)
    (unit, number), *_ = place.items()
    assert out.startswith(
        f"{name}, {unit} {number}: type\n  He met  [[Ann]].\n"
    )


def test_a_long_sentence_is_cut(folder, check, run):
    words = [f"w{i}" for i in range(40)]
    (folder / "a.conll").write_text(
        "".join(f"{x} A\n" for x in words) + "b B\n"
    )
    check.side_effect = [[LabelIssue(0, 20, 21, "label", ["A"], 0, ["B"], 1)]]
    out, _ = run("check-labels", "a.conll")
    _, shown, said, *_ = out.splitlines()
    parts = " ".join(words[8:20]), words[20], " ".join(words[21:33])
    assert shown == "  ... {} [[{}]] {} ...".format(*parts)
    assert said == "  labelled A (0.0%), the tagger finds B (100.0%)"


def test_options_are_passed_on(check, run):
    command = "check-labels train.conll --folds 3 --elmo model --max-labels 9"
    command += " --word-vectors glove.txt --quiet --seed"
    numbers = []
    for seed in (1, 1, 2):
        assert run(*command.split(), seed).err == "a bar\n"
        numbers.append(keras.random.uniform(()))
    assert numbers[0] == numbers[1] != numbers[2]
    (words, tags, elmo), options = check.call_args
    assert (words[1], tags[1], elmo) == (["Hi", "Bo"], ["O", "O"], "model")
    assert options == {
        "folds": 3,
        "word_vectors": "glove.txt",
        "max_labels": 9,
        "verbose": 0,
    }


def test_errors_leave_no_report(folder, check, fails):
    (folder / "o.conll").write_text("a O\nb O\n")
    (folder / "old.txt").write_text("old")
    for arguments, message in [
        ("none.conll", "no labelled text file 'none.conll'"),
        ("o.conll a.txt", "must have two labels or more"),
        ("train.conll old.txt", "'old.txt' exists. To replace it, pass"),
    ]:
        assert message in fails("check-labels", *arguments.split(), "--quiet")
    assert not check.called
    assert (folder / "old.txt").read_text() == "old"
    assert not (folder / "a.txt").exists()


@pytest.mark.exhaustive
def test_ctrl_c_reports_what_is_known(folder):
    blocks = (ROOT / "examples/ner_data/train.conll").read_text("utf-8")
    blocks = [x for x in blocks.split("\n\n") if x.count("\n") < 12][:200]
    (folder / "train.conll").write_text("\n\n".join(blocks) + "\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "keras_elmo", "check-labels", "train.conll"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    told = []
    for line in process.stderr:
        told.append(line)
        if line.startswith("Fold 2 of 5"):
            break
    time.sleep(1)  # Until the training has begun.
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0
    assert "warning: The check was interrupted. " in err
    assert re.search("those of 1 of 5 folds", err)
    assert "the tagger finds" in out
