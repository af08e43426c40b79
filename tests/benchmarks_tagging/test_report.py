"""Tables and pictures of the results of trainings."""

import json

import numpy as np
import pytest
import report
from experiments import LISTS


def history(scores, steps=10):
    return [
        {"update": steps * (i + 1), "dev_score": score, "processor_seconds": 6}
        for i, score in enumerate(scores)
    ]


def write_seeds(folder, tests, weights=None):
    """Writes results of seeds; only the test scores and weights differ."""
    for seed, score in enumerate(tests, 1):
        mix = {} if weights is None else {
            "input": {"gamma": 1.0, "weights": weights[seed - 1]}
        }  # fmt: skip
        result = {
            "seed": seed,
            "measure": "f1",
            "options": {"fraction": 1.0, "mix": "learned"},
            "history": history([0.1, 0.3, 0.2]),
            "mix_weights": mix,
            "dev": {"score": 0.3},
            "test": {"score": score, "types": {"person": {"f1": score}}},
        }
        path = folder / f"seed-{seed}" / "result.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(result))


def test_gains_are_over_the_baseline_and_over_layer_0(tmp_path):
    write_seeds(tmp_path / "baseline", [0.10, 0.12])
    write_seeds(tmp_path / "layer-0", [0.20, 0.24], [[1, 0], [1, 0]])
    write_seeds(tmp_path / "elmo-both", [0.30, 0.36], [[0.4, 0.6], [0.2, 0.8]])
    results = report.read_results(tmp_path, LISTS["wnut17"])
    head, _, baseline, elmo, control = (
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in report.score_table(results, LISTS["wnut17"])
    )
    rows = {row[0]: dict(zip(head, row)) for row in (baseline, elmo, control)}
    assert rows["baseline"]["test f1"] == "11.00 ± 1.41"
    assert rows["baseline"]["over the baseline"] == ""
    # Deviations: the square roots of 1.41^2 + 4.24^2 and 2.83^2 + 4.24^2.
    assert rows["elmo-both"]["over the baseline"] == "+22.00 ± 4.47"
    assert rows["elmo-both"]["over layer 0"] == "+11.00 ± 5.10"
    assert rows["layer-0"]["over the baseline"] == "+11.00 ± 3.16"
    assert rows["layer-0"]["over layer 0"] == ""
    assert rows["elmo-both"]["updates to the best"] == "20"
    assert rows["elmo-both"]["minutes"] == "0.3"
    assert "| elmo-both | input | 1.00 | 0.300, 0.700 |" in (
        report.weight_table(results)
    )


def test_the_best_score_stays_when_a_training_has_ended():
    pytest.importorskip(
        "matplotlib", reason="matplotlib, of `benchmarks`, is not installed."
    )
    from pictures import best_so_far

    histories = [history([0.1, 0.4, 0.2]), history([0.5], steps=20)]
    updates, best = best_so_far([*histories, history([0.2, 0.1], steps=15)])
    np.testing.assert_array_equal(updates, [20, 30])
    np.testing.assert_array_equal(best, [[0.4, 0.4], [0.5, 0.5], [0.2, 0.2]])


def test_layers_of_several_tasks_are_one_picture(tmp_path, capsys):
    pytest.importorskip(
        "matplotlib", reason="matplotlib, of `benchmarks`, is not installed."
    )
    write_seeds(tmp_path / "elmo", [0.3, 0.4], [[0.4, 0.6], [0.2, 0.8]])
    write_seeds(tmp_path / "none", [0.3])
    picture = tmp_path / "layers.png"
    report.main([str(picture), f"names={tmp_path / 'elmo'}"])
    assert picture.read_bytes().startswith(b"\x89PNG")
    for task in (f"names={tmp_path / 'none'}", "names=nowhere", "names"):
        with pytest.raises(SystemExit):
            report.main([str(picture), task])
        assert "task must be NAME=FOLDER" in capsys.readouterr().err
