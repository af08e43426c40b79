"""`benchmarks/tagger_formats.py`, on a small tagger and a few sentences."""

import importlib
import json
import statistics
import sys

import keras
import numpy as np
import pytest
from conftest import ROOT
from small_models import make_shallow_elmo

from keras_elmo import CRF
from keras_elmo import CRFDecoder
from keras_elmo import batch_to_ids

pytest.importorskip("onnx", reason="onnx is optional.")
pytest.importorskip("onnxruntime", reason="onnxruntime is optional.")
pytestmark = pytest.mark.usefixtures("portable_path")

TEXT = "Ann met Bo .\nYes !\nThe café was open all day long .\n" * 12
FORMATS = ["tagger.keras", "saved_model", "float32.onnx", "int8.onnx"]


@pytest.fixture
def program(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    return importlib.import_module("tagger_formats")


def write_tagger(path):
    """Writes a tagger whose scores are zero on average over `TEXT`."""
    ids, elmo = keras.Input((None, 12), dtype="int32"), make_shallow_elmo()
    dense = keras.layers.Dense(3)
    scores = CRF(3)(dense(elmo(ids)), mask=elmo.compute_mask(ids))
    tags = CRFDecoder(tag_names=["O", "B-X", "I-X"], name="tags")(scores)
    vectors = elmo(batch_to_ids([TEXT.split()], 12))
    mean = keras.ops.convert_to_numpy(vectors).mean(axis=(0, 1))
    kernel = np.random.default_rng(1).normal(0, 9, dense.kernel.shape)
    dense.set_weights([kernel, -mean @ kernel])
    keras.Model(ids, tags).save(path)


@pytest.mark.exhaustive
def test_all_formats(program, tmp_path, monkeypatch, capsys):
    tagger, text = tmp_path / "small.keras", tmp_path / "text.txt"
    write_tagger(tagger)
    text.write_text(TEXT, "utf-8")
    output = tmp_path / "results.json"
    arguments = ["--model", tagger, "--text", text, "--turns", 2]
    command = ["program", *map(str, arguments), "--output", str(output)]
    monkeypatch.setattr(sys, "argv", command)
    program.main()
    results = json.loads(output.read_text())
    assert str(tmp_path) not in output.read_text()
    assert (results["model"], results["text"]) == ("small.keras", "text.txt")
    assert results["words"] == len(TEXT.split())
    assert list(results["formats"]) == FORMATS
    for found in results["formats"].values():
        assert len(found["seconds"]) == 2 and min(found["seconds"]) > 0
        assert found["megabytes"] > 0.01
    counts = [x["different_labels"] for x in results["formats"].values()]
    assert counts[:3] == [0, 0, 0] and counts[3] < 0.5 * results["words"]
    *_, header, _, first, _, _, last = capsys.readouterr().out.splitlines()
    assert header == "| format | words/s | MB | different labels |"
    seconds = statistics.median(results["formats"]["tagger.keras"]["seconds"])
    speed = f"{results['words'] / seconds:,.0f}"
    assert first.startswith(f"| tagger.keras | {speed} | ")
    assert last.startswith("| int8.onnx | ")
