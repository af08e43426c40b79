"""The programs in `examples/`, on tiny texts and models."""

import importlib
import json
import runpy
import subprocess
import sys

import keras
import numpy as np
import pytest
from conftest import ON_TENSORFLOW
from conftest import ROOT
from small_models import make_elmo

from keras_elmo import Tagger
from keras_elmo import batch_to_ids
from keras_elmo.commands.main import make_parser
from keras_elmo.pretraining.training_folder import TrainingFolder
from keras_elmo.text import read_conll

pytestmark = pytest.mark.usefixtures("built_optimizers", "portable_path")
TEXT = """\
The children play in the garden .
The play had a first night .
The children play in the park .
The play had a second night .
Now play it again .

They play cards at the friendliest bank .
They play cards at the friendliest bank .
"""
SOURCE = "The children play in the garden ."


@pytest.fixture
def elmo(tmp_path):
    """A layer that is also in the folder "model"."""
    elmo = make_elmo(lstm={"num_layers": 1})
    (tmp_path / "model").mkdir()
    files = [tmp_path / "model" / x for x in ("options.json", "weights.hdf5")]
    elmo.save_to_bilm(*files)
    return elmo


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Runs a program in a folder of the test; returns what it defines."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "examples")

    def run(name, *arguments):
        path = str(ROOT / f"examples/{name}.py")
        monkeypatch.setattr(sys, "argv", [path, *arguments])
        return runpy.run_path(path, run_name="__main__")

    return run


def unit_vectors(x):
    x = keras.ops.convert_to_numpy(x)[0]
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


@pytest.mark.parametrize("same_word", [False, True])
def test_neighbours_are_the_nearest(elmo, run, tmp_path, capsys, same_word):
    (tmp_path / "text.txt").write_text(TEXT)
    options = ["--same-word"] if same_word else []
    options += ["--source", SOURCE, "--invented", "unfriendliest"]
    files = ["--model", "model", "--text", "text.txt", "--words", "play"]
    run("neighbours", *files, *options)
    spellings, shown = capsys.readouterr().out.split("\nThe children [play]")
    found = [line.split() for line in shown.splitlines() if "[" in line]

    def top(sentence):
        return unit_vectors(elmo.all_layers(batch_to_ids([sentence], 12))[:, 1])

    expected = []
    query = top(SOURCE.split())[2]
    for words in map(str.split, {*TEXT.splitlines()} - {SOURCE, ""}):
        cosines = top(words) @ query
        if same_word:
            cosines[np.array(words) != "play"] = -2
        expected.append((cosines.max(), f"[{words[cosines.argmax()]}]"))
    expected.sort(reverse=True)
    for line, (cosine, word) in zip(found, expected, strict=True):
        assert float(line[1]) == pytest.approx(cosine, abs=6e-4)
        assert word in line

    words = sorted(set(TEXT.split()))
    ids = batch_to_ids([[*words, "unfriendliest"]], 12)
    *vectors, query = unit_vectors(elmo.token_encoder(ids))
    nearest = words[np.argmax(vectors @ query)]
    assert f"unfriendliest (0 times): {nearest} " in spellings


@ON_TENSORFLOW
@pytest.mark.exhaustive
def test_the_quickstart_prints_only_its_own_lines(elmo, tmp_path, monkeypatch):
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    program = ROOT / "examples/quickstart.py"
    found = subprocess.run(
        [sys.executable, program, "--options", tmp_path / "model"],
        capture_output=True,
        cwd=ROOT,
        text=True,
    )
    assert (found.stderr, found.returncode) == ("", 0)
    lines = found.stdout.splitlines()
    assert len(lines) <= 40
    assert lines[1] == "  0.99  PER  Maria Lopez"
    (epochs,) = {x.split()[3] for x in lines if x.startswith("  epoch ")}
    assert sum(x.startswith("  epoch ") for x in lines) == int(epochs[:-1])
    same = "  the labels of all 505 sentences are the same"
    assert lines.count(same) == 2
    after = lines[lines.index("To try next:") + 1 :]
    parser, _ = make_parser()
    commands = [x.split("keras-elmo ")[1].split() for x in after[:-1]]
    for command in commands:
        parser.parse_args(command)
        files = [ROOT / x for x in command if x.startswith("examples")]
        assert all(file.is_file() for file in files)


@ON_TENSORFLOW
@pytest.mark.exhaustive
def test_ner(run, tmp_path, capsys):
    ner = runpy.run_path(str(ROOT / "examples/ner.py"))
    data = ner["DATA"] / "train.conll"
    blocks = data.read_text("utf-8").split("\n\n")
    few = [block for block in blocks if "B-" in block and len(block) < 120][:16]
    file = tmp_path / "few.conll"
    file.write_text("\n\n".join(few), "utf-8")
    files = [f"--{part}={file}" for part in ("train", "dev", "test")]
    run("ner", *files, "--epochs=20", f"--output={tmp_path}")
    tagger = Tagger.load(tmp_path / "ner.keras")
    f1 = tagger.evaluate(*read_conll(file))["f1"]
    assert f1 > 0.5
    assert f"{file}: entity F1 {f1:.3f}\n" in capsys.readouterr().out
    assert (tmp_path / "served/1/saved_model.pb").exists()


LABELLED = "cat\tcat ran\ncat\tcat sat\nDog\tDog ran\nDog\tDog sat\n"
FILES = ["--elmo", "model", "--train", "train.txt", "--dev", "dev.txt"]


@pytest.fixture
def texts(elmo, tmp_path):
    for name in ("train.txt", "dev.txt"):
        (tmp_path / name).write_text(LABELLED * 20)


@pytest.mark.parametrize("fine_tune", [True, False])
@pytest.mark.exhaustive
def test_texts_are_classified(texts, run, capsys, fine_tune):
    flags = ["--epochs", "3", "--learning-rate", "0.1", "--text", "Dog ran"]
    flags += ["--fine-tune"] * fine_tune
    run("text_classification", *FILES, *flags, "--save", "model.keras")
    shown = capsys.readouterr().out
    assert "accuracy on dev: 100.00% of 80 sentences" in shown
    assert "\nDog (" in shown
    model = keras.saving.load_model("model.keras")
    num_trained = sum(int(np.prod(v.shape)) for v in model.trainable_variables)
    # Two mix weights and a factor, and a dense layer from 12 to 2.
    assert num_trained > 1000 if fine_tune else num_trained == 3 + 26


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb c\nno tab\n", "line 2: a line must be a label, a tab"),
        ("", "contains no sentences"),
        ("Dog\ta b\nDog\t\xe9t\xe9\n", "line 2: the text must be UTF-8"),
        # A byte order mark is no part of the label.
        ("\xef\xbb\xbfDog\tran\nbird\tsang\n", r"Received: \['bird'\]"),
    ],
)
def test_bad_texts_are_told(texts, run, tmp_path, text, message):
    (tmp_path / "dev.txt").write_bytes(text.encode("latin-1"))
    with pytest.raises(SystemExit, match=message):
        run("text_classification", *FILES, "--epochs", "1")


@pytest.mark.exhaustive
def test_elmo_and_a_bag_of_words_are_compared(texts, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples")
    program = importlib.import_module("compare_classifiers")
    small = {"MODEL": "model", "SEEDS": (1,), "TEST_SENTENCES": 10}
    for name, value in {**small, "EPOCHS": 20}.items():
        monkeypatch.setattr(program, name, value)
    monkeypatch.chdir(tmp_path)
    program.main(["train.txt", "--output", "results.json"])
    accuracy = json.loads((tmp_path / "results.json").read_text())["accuracy"]
    # The name of the class is a word of each sentence.
    assert accuracy["bag of words"] == [1] and len(accuracy["model"]) == 1


def test_a_training_is_drawn(run, tmp_path, capsys):
    reason = "matplotlib, of the extra `examples`, is not installed."
    pyplot = pytest.importorskip("matplotlib.pyplot", reason=reason)
    training = TrainingFolder(tmp_path / "one")
    training.log(step=1, tokens=2000, training_loss=7.5)
    command = ["plot_training", "--picture", "curve.png", "one"]
    with pytest.raises(SystemExit, match="has no perplexities"):
        run(*command)
    training.log(step=1, tokens=2000, heldout_perplexity=1500.0)
    training.log(step=2, tokens=4000, heldout_perplexity=900.0)
    with open(tmp_path / "one/log.jsonl", "a") as file:
        file.write('{"step": 3, "tokens": 60')  # It is not finished.
    run(*command, "one")
    (axes,) = pyplot.gcf().axes
    for line in axes.lines:
        assert line.get_xydata().tolist() == [[0.002, 1500], [0.004, 900]]
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["one", "one"]
    assert pyplot.imread("curve.png")[..., :3].std() > 0.02
    with pytest.raises(SystemExit):
        run(*command, "--labels", "a", "b")
    assert "folders, 1. Received: 2" in capsys.readouterr().err
    pyplot.close("all")
