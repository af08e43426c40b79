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


@pytest.fixture
def plot(tmp_path, monkeypatch):
    """Writes the log of a training, and draws it."""
    training = TrainingFolder(tmp_path / "one")
    training.log(step=1, tokens=2000, training_loss=7.5)

    def run(*arguments):
        picture = ["--picture", str(tmp_path / "curve.png")]
        arguments = [PATH, *map(str, arguments), *picture]
        monkeypatch.setattr(sys, "argv", arguments)
        runpy.run_path(PATH, run_name="__main__")

    yield training, run
    plt.close()


@pytest.mark.parametrize("labels", [[], ["--labels", "first", "second"]])
def test_a_picture_is_drawn(plot, tmp_path, labels):
    training, run = plot
    training.log(step=1, tokens=2000, heldout_perplexity=1500.0)
    training.log(step=2, tokens=4000, heldout_perplexity=900.0)
    with open(tmp_path / "one/log.jsonl", "a") as file:
        file.write('{"step": 3, "tokens": 60')  # It is not finished.
    run(tmp_path / "one", tmp_path / "one", *labels)
    (axes,) = plt.gcf().axes
    for line in axes.lines:
        assert line.get_xydata().tolist() == [[0.002, 1500], [0.004, 900]]
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == (labels[1:] or ["one", "one"])
    assert [text.get_text() for text in axes.texts] == ["900", "900"]
    assert plt.imread(tmp_path / "curve.png")[..., :3].std() > 0.02


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "one' has no perplexities: train with --heldout."),
        (["--labels", "a", "b"], "that of the folders, 1. Received: 2"),
    ],
)
def test_what_cannot_be_drawn_is_told(plot, tmp_path, capsys, arguments, told):
    with pytest.raises(SystemExit) as error:
        plot[1](tmp_path / "one", *arguments)
    assert told in f"{error.value}{capsys.readouterr().err}"
    assert not (tmp_path / "curve.png").exists()
