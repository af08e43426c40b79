"""`train.py`, `experiments.py` and `report.py`, on a few sentences."""

import json

import numpy as np
import pytest
from benchmarks_tagging.tagging_data import to_conllu
from benchmarks_tagging.tagging_data import write_bilm
from benchmarks_tagging.tagging_data import write_files

pytest.importorskip(
    "matplotlib", reason="matplotlib, of `benchmarks`, is not installed."
)
import experiments
import pictures
import report
import train

SMALL = ["--units", "12", "--batch-size", "8", "--dropout", "0.1",
         "--elmo-dropout", "0.1", "--learning-rate", "0.02"]  # fmt: skip
pytestmark = pytest.mark.usefixtures("portable_path")


def run(paths, *arguments):
    train_file, dev, test = paths
    arguments = [train_file, dev, "--test", test, *SMALL, *arguments]
    return train.main([str(argument) for argument in arguments])


@pytest.mark.exhaustive
def test_parts_of_speech_with_elmo(tmp_path):
    preset, output = write_bilm(tmp_path / "bilm"), tmp_path / "out"
    options = ["--epochs", 6, "--seeds", 2, "--fraction", 0.5]
    options += ["--elmo", preset, "--output", output]
    (result,) = run(write_files(tmp_path, to_conllu), *options)
    written = (output / "seed-2" / "result.json").read_text()
    assert json.loads(written) == result
    assert result["training_sentences"] == 20
    assert result["test"]["accuracy"] > 0.9
    for place in ("input", "output"):
        assert np.ptp(result["mix_weights"][place]["weights"]) > 1e-3


def test_smaller_fractions_lie_in_larger_ones():
    chosen = [set(train.choose(50, x, 3)) for x in (0.01, 0.1, 1)]
    assert [len(c) for c in chosen] == [1, 5, 50]
    assert chosen[0] < chosen[1] < chosen[2]
    assert chosen[1] != set(train.choose(50, 0.1, 4))


@pytest.mark.exhaustive
def test_experiments_go_on_and_report(tmp_path, capsys, monkeypatch):
    paths = write_files(tmp_path, number=8)
    output = tmp_path / "runs"
    command = ["wnut17", str(tmp_path), "--output", str(output), "--quick"]
    command += ["--seeds", "1", "--only", "baseline", "elmo-both"]
    # Trainings that `train.py` has written there count as done.
    options = ["--elmo-at", "none", "--epochs", 1]
    run(paths, *options, "--output", output / "baseline")
    result = output / "baseline" / "seed-1" / "result.json"
    before = result.stat().st_mtime_ns
    # A failed training is reported, and is retried the next time.
    monkeypatch.setenv("KERAS_BACKEND", "none")
    with pytest.raises(SystemExit, match="1 of 2 trainings failed"):
        experiments.main(command)
    assert "Traceback" in (output / "elmo-both" / "seed-1.txt").read_text()
    monkeypatch.delenv("KERAS_BACKEND")
    experiments.main(command)
    assert "elmo-both seed 1: done" in capsys.readouterr().out
    assert result.stat().st_mtime_ns == before
    assert "| elmo-both | input |" in (output / "report.md").read_text()
    scores = json.loads((output / "scores.json").read_text())
    (baseline,) = scores["trainings"]["baseline"]
    found = json.loads(result.read_text())
    assert baseline["test"]["score"] == found["test"]["f1"]
    assert set(found["test"]["types"]) == {"per", "loc"}
    drawn = (output / "curves-100.png").read_bytes()
    assert drawn.startswith(b"\x89PNG")


def history(*scores, steps=10):
    return [
        {"update": steps * (i + 1), "dev_score": score, "processor_seconds": 6}
        for i, score in enumerate(scores)
    ]


def results_of(*tests):
    """Returns results of seeds; only the test scores differ."""
    same = {"history": history(0.1, 0.3, 0.2), "dev": {"score": 0.3}}
    return [{**same, "test": {"score": score}} for score in tests]


def test_gains_are_over_the_baseline_and_over_layer_0():
    results = {
        "baseline": results_of(0.10, 0.12),
        "elmo-both": results_of(0.30, 0.36),
        "layer-0": results_of(0.20, 0.24),
    }
    table = report.score_table(results, experiments.LISTS["wnut17"], "f1")
    head, _, baseline, elmo, control, _ = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in table
    )
    baseline, elmo, control = (
        dict(zip(head, row)) for row in (baseline, elmo, control)
    )
    assert baseline["test f1"] == "11.00 ± 1.41"
    assert baseline["over the baseline"] == control["over layer 0"] == ""
    # Deviations: the square roots of 1.41^2 + 4.24^2 and 2.83^2 + 4.24^2.
    assert elmo["over the baseline"] == "+22.00 ± 4.47"
    assert elmo["over layer 0"] == "+11.00 ± 5.10"
    assert elmo["updates to the best"] == "20"
    assert elmo["updates to the baseline's best"] == "20"


def test_the_best_score_stays_when_a_training_has_ended():
    histories = [history(0.1, 0.4, 0.2), history(0.5, steps=20)]
    updates, best = pictures.best_so_far(
        [*histories, history(0.2, 0.1, steps=15)]
    )
    np.testing.assert_array_equal(updates, [20, 30])
    np.testing.assert_array_equal(best, [[0.4, 0.4], [0.5, 0.5], [0.2, 0.2]])
