"""The code of docs/crf.md, run block by block as a reader would."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from doc_snippets import read_blocks
from doc_snippets import run_blocks

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Export is TensorFlow's."
)


@pytest.mark.exhaustive
def test_the_blocks_run(tmp_path, monkeypatch, capsys, built_optimizers):
    monkeypatch.chdir(tmp_path)
    blocks = read_blocks("docs/crf.md")
    assert len(blocks) == 4
    names = run_blocks(blocks[:2])
    found, labels = names["found"], names["labels"]
    assert found.dtype == "int32" and found.shape == (2, 4)
    assert np.all(found[1, 1:] == 0)
    shown = [[labels[i] for i in row] for row in found]
    assert str(shown) in capsys.readouterr().out
    served = tf.saved_model.load("served/1")
    np.testing.assert_array_equal(served.serve(names["x"]), found)
    run_blocks(blocks[2:], names)
    assert tuple(names["log_likelihood"].shape) == (2,)
    assert np.isfinite(float(names["loss"]))
    assert names["tags"].shape == (2, 4)
