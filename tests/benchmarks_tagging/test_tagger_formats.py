"""`benchmarks/tagger_formats.py`, on a small tagger and a few sentences."""

import keras
import numpy as np
import pytest
from small_models import make_shallow_elmo

from keras_elmo import CRF
from keras_elmo import CRFDecoder
from keras_elmo import batch_to_ids

pytest.importorskip("onnx", reason="onnx is optional.")
pytest.importorskip("onnxruntime", reason="onnxruntime is optional.")
TEXT = "Ann met Bo .\nYes !\nThe café was open all day long .\n" * 12
FORMATS = ["tagger.keras", "saved_model", "float32.onnx", "int8.onnx"]


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
@pytest.mark.usefixtures("portable_path")
def test_all_formats(run, tmp_path):
    write_tagger(tmp_path / "small.keras")
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    arguments = ["--model", "small.keras", "--text", "text.txt", "--turns", 2]
    results = run("tagger_formats", *arguments)
    assert results["words"] == len(TEXT.split())
    assert list(results["formats"]) == FORMATS
    for found in results["formats"].values():
        assert len(found["seconds"]) == 2 and min(found["seconds"]) > 0
        assert found["megabytes"] > 0.01
    counts = [x["different_labels"] for x in results["formats"].values()]
    assert counts[:3] == [0, 0, 0] and counts[3] < 0.5 * results["words"]
