"""`train.py`, `predict.py` and `experiments.py`, on a few sentences."""

import json
import runpy
import sys

import experiments
import keras
import predict
import pytest
import train
from benchmarks_tagging.tagging_data import write_bilm
from benchmarks_tagging.tagging_data import write_conllu
from benchmarks_tagging.tagging_data import write_files

SMALL = ["--word-dim", "8", "--character-units", "6", "--units", "12",
         "--batch-size", "8", "--dropout", "0.1", "--elmo-dropout", "0.1",
         "--learning-rate", "0.02"]  # fmt: skip

pytestmark = [
    pytest.mark.usefixtures("portable_path"),
    pytest.mark.exhaustive,
]


@pytest.fixture
def preset(tmp_path):
    return write_bilm(tmp_path / "bilm")


def run(paths, *arguments):
    train_file, dev, test = paths
    arguments = [train_file, dev, "--test", test, *SMALL, *arguments]
    return train.main([str(argument) for argument in arguments])


def read_tags(text):
    """Returns the words and tags that `predict.py` prints."""
    return [
        [line.split("\t") for line in block.splitlines()]
        for block in text.strip("\n").split("\n\n")
    ]


def test_a_tagger_learns_and_is_used(tmp_path, preset, capsys):
    pytest.importorskip(
        "matplotlib", reason="matplotlib, of `benchmarks`, is not installed."
    )
    paths = write_files(tmp_path)
    output = tmp_path / "out"
    first, second = run(
        paths, "--elmo", preset, "--precompute", "--output", output,
        "--epochs", 10, "--seeds", 1, 2,
    )  # fmt: skip
    shown = capsys.readouterr().out
    assert "2 seeds, mean and standard deviation" in shown
    assert first["test"]["f1"] > 0.9 and second["test"]["f1"] > 0.9
    assert first["history"] != second["history"]
    for seed, result in ((1, first), (2, second)):
        folder = output / f"seed-{seed}"
        assert json.loads((folder / "result.json").read_text()) == result
        for name in ("training.png", "confusion.png"):
            assert (folder / name).read_bytes().startswith(b"\x89PNG")
    assert set(first["test"]["types"]) == {"per", "loc"}
    assert first["precompute_seconds"] > 0

    tagger = str(output / "seed-1")
    predict.main([tagger, "--text", "Dee Moss left New York ."])
    words, tags = zip(*read_tags(capsys.readouterr().out)[0])
    assert " ".join(words) == "Dee Moss left New York ."
    assert " ".join(tags) == "B-per I-per O B-loc I-loc O"
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("Ann met Cy\n\nBob Lee saw Rome .\n")
    predict.main([tagger, str(corpus)])
    printed = capsys.readouterr().out
    assert printed.count("\n\n") == 2 and "\n\n\n" in printed
    assert "Rome\tB-loc\n" in printed


def test_files_that_are_no_taggers_are_told(tmp_path):
    with pytest.raises(ValueError, match=r"'.*none' does not exist\. Write"):
        predict.main([str(tmp_path / "none"), "--text", "a"])
    with pytest.raises(
        ValueError, match=r"'.*r\.keras' does not exist\. Write"
    ):
        predict.main([str(tmp_path), "--text", "a"])
    (tmp_path / "tagger.keras").write_text("no model")
    with pytest.raises(ValueError, match="is not a tagger"):
        predict.main([str(tmp_path), "--text", "a"])
    inputs = keras.Input((2,))
    keras.Model(inputs, inputs + 1).save(tmp_path / "tagger.keras")
    with pytest.raises(ValueError, match="is not a tagger"):
        predict.main([str(tmp_path), "--text", "a"])


def test_a_bad_file_is_told_in_a_line(tmp_path, monkeypatch):
    path = tmp_path / "bad.conll"
    path.write_text("a\tO\nb\n")
    output = tmp_path / "out"
    arguments = [path, path, "--output", output]
    monkeypatch.setattr(sys, "argv", ["train.py", *map(str, arguments)])
    with pytest.raises(SystemExit) as error:
        runpy.run_path(train.__file__, run_name="__main__")
    message = f"error: '{path}', line 2: there must be 2 columns"
    assert str(error.value).startswith(message)
    assert not output.exists()


def test_parts_of_speech_of_a_fraction(tmp_path):
    paths = write_files(tmp_path, write_conllu, "conllu")
    (result,) = run(
        paths, "--elmo-at", "none", "--fraction", 0.5, "--epochs", 6,
        "--evaluate-every", 4, "--output", tmp_path / "out",
    )  # fmt: skip
    assert result["measure"] == "accuracy"
    assert result["training_sentences"] == 20
    assert result["test"]["score"] > 0.9
    assert set(result["test"]["types"]) == {"PROPN", "VERB", "PUNCT"}
    assert [e["update"] for e in result["history"]][:3] == [4, 8, 12]
    assert result["mix_weights"] == {}


def test_smaller_fractions_lie_in_larger_ones():
    chosen = [set(train.choose(50, x, 3)) for x in (0.01, 0.1, 1)]
    assert [len(c) for c in chosen] == [1, 5, 50]
    assert chosen[0] < chosen[1] < chosen[2]
    assert chosen[1] != set(train.choose(50, 0.1, 4))


def test_fine_tuning_saves_what_it_learned(tmp_path, preset):
    paths = write_files(tmp_path, number=8)
    run(
        paths, "--elmo", preset, "--fine-tune", "--epochs", 1,
        "--no-characters", "--units", 0, "--output", tmp_path,
    )  # fmt: skip
    tagger = keras.saving.load_model(tmp_path / "seed-1" / "tagger.keras")
    paths = [v.path.split("/") for v in tagger.trainable_variables]
    assert any("encoder" in path for path in paths)
    assert any("token_encoder" in path for path in paths)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fraction", "0"], "--fraction must be above 0"),
        (["--fine-tune", "--precompute"], "--precompute needs a frozen biLM"),
        (["--fine-tune", "--elmo-at", "none"], "--fine-tune needs ELMo"),
        (["--elmo-at", "top"], "invalid choice: 'top'"),
    ],
)
def test_arguments_that_do_not_go_together(capsys, arguments, message):
    with pytest.raises(SystemExit):
        train.main(["a", "b", "--output", "c", *arguments])
    assert message in capsys.readouterr().err


def test_help_teaches(capsys):
    with pytest.raises(SystemExit):
        train.main(["--help"])
    shown = capsys.readouterr().out
    for flag in ("--elmo-at", "--precompute", "--scheme", "examples:"):
        assert flag in shown


def test_experiments_go_on_and_report(tmp_path, capsys, monkeypatch):
    pytest.importorskip(
        "matplotlib", reason="matplotlib, of `benchmarks`, is not installed."
    )
    paths = write_files(tmp_path, number=8)
    output = tmp_path / "runs"
    command = ["wnut17", str(tmp_path), "--output", str(output), "--quick",
               "--seeds", "1", "--jobs", "1"]  # fmt: skip
    experiments.main([*command, "--only", "baseline", "--list"])
    assert "[to do]" in capsys.readouterr().out

    # Trainings that `train.py` has written there count as done.
    run(
        paths, "--elmo-at", "none", "--epochs", 1,
        "--output", output / "baseline",
    )  # fmt: skip
    result = output / "baseline" / "seed-1" / "result.json"
    before = result.stat().st_mtime_ns
    # A failed training is reported, and is retried the next time.
    log = output / "elmo-both" / "seed-1" / "log.txt"
    monkeypatch.setenv("KERAS_BACKEND", "none")
    with pytest.raises(SystemExit, match="1 of 2 trainings failed"):
        experiments.main([*command, "--only", "baseline", "elmo-both"])
    assert "Traceback" in log.read_text()
    monkeypatch.delenv("KERAS_BACKEND")
    capsys.readouterr()
    experiments.main([*command, "--only", "baseline", "elmo-both"])
    shown = capsys.readouterr().out
    assert "2 trainings, 1 of them done" in shown
    assert "elmo-both seed-1: done" in shown
    assert result.stat().st_mtime_ns == before
    report = (output / "report.md").read_text()
    assert "| elmo-both | 1 |" in report and "| elmo-both | input |" in report
    scores = json.loads((output / "scores.json").read_text())
    found = json.loads(result.read_text())
    (baseline,) = scores["trainings"]["baseline"]
    assert baseline["test"]["score"] == found["test"]["f1"]
    assert (
        baseline["test"]["types"]["per"] == found["test"]["types"]["per"]["f1"]
    )
    assert baseline["updates_to_best"] in [
        e["update"] for e in found["history"]
    ]
    for name in ("curves-100.png", "layers.png"):
        assert (output / name).read_bytes().startswith(b"\x89PNG")
