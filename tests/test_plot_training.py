"""The program `examples/plot_training.py`, on small logs of a training."""

import runpy
import sys

import pytest
from conftest import ROOT

from keras_elmo.pretraining.training_folder import TrainingFolder

plt = pytest.importorskip(
    "matplotlib.pyplot",
    reason="matplotlib, of the extra `examples`, is not installed.",
)
PATH = str(ROOT / "examples" / "plot_training.py")
TRAINING = [
    {"step": 1, "tokens": 2000, "training_loss": 7.5},
    {"step": 2, "tokens": 4000, "training_loss": 7.25},
]
EVALUATIONS = [
    {"step": 1, "tokens": 2000, "heldout_perplexity": 1500.0},
    {"step": 2, "tokens": 4000, "heldout_perplexity": 900.0},
]


def make_folder(path, entries):
    training = TrainingFolder(path)
    for entry in entries:
        training.log(**entry)
    return path


@pytest.fixture
def folder(tmp_path):
    return make_folder(tmp_path / "one", [*TRAINING, *EVALUATIONS])


def plot(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", [PATH, *map(str, arguments)])
    runpy.run_path(PATH, run_name="__main__")


@pytest.mark.parametrize("labels", [[], ["--labels", "first", "second"]])
def test_a_picture_is_drawn(folder, monkeypatch, tmp_path, capsys, labels):
    picture = tmp_path / "curve.png"
    plot(monkeypatch, folder, folder, "--picture", picture, *labels)
    assert capsys.readouterr().out == f"Wrote {picture}\n"
    (axes,) = plt.gcf().axes
    for line in axes.lines:
        assert line.get_xydata().tolist() == [[0.002, 1500], [0.004, 900]]
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == (labels[1:] or ["one", "one"])
    assert [text.get_text() for text in axes.texts] == ["900", "900"]
    plt.close()
    height, width, _ = plt.imread(picture).shape
    assert width > height > 300
    assert plt.imread(picture)[..., :3].std() > 0.02


def test_a_line_that_is_not_finished_is_left_out(folder):
    with open(folder / "log.jsonl", "a") as file:
        file.write('{"step": 3, "tokens": 60')
    points = runpy.run_path(PATH)["read_log"](folder)
    assert points == [(0.002, 1500.0), (0.004, 900.0)]


def test_a_log_without_perplexities(monkeypatch, tmp_path):
    folder = make_folder(tmp_path / "one", TRAINING)
    picture = tmp_path / "curve.png"
    with pytest.raises(SystemExit) as error:
        plot(monkeypatch, folder, "--picture", picture)
    plt.close()
    message = f"'{folder}' has no perplexities: train with --heldout."
    assert error.value.code == message
    assert not picture.exists()


def test_a_wrong_number_of_labels(folder, monkeypatch, tmp_path, capsys):
    picture = tmp_path / "curve.png"
    arguments = [folder, folder, "--picture", picture, "--labels", "first"]
    with pytest.raises(SystemExit) as error:
        plot(monkeypatch, *arguments)
    assert error.value.code == 2
    assert (
        "the number of --labels must be that of the folders, 2. Received: 1\n"
    ) in capsys.readouterr().err
    assert not picture.exists()
