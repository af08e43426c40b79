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
    printed = capsys.readouterr().out
    tags = names["tags"]
    shown = [[names["names"][tag] for tag in row] for row in tags]
    assert str(shown) in printed
    assert tags.dtype == "int32" and tags.shape == (2, 4)
    assert np.all(tags[1, 1:] == 0)
    served = tf.saved_model.load("served/tagger/1").signatures["default"]
    answer = served(tf.constant(["Ann Lee slept .", "Hello"]))
    np.testing.assert_array_equal(answer["tags"], tags)
    found = answer["tags_labels"].numpy().astype("S").astype(str)
    assert found[0].tolist() == shown[0]
    assert found[1].tolist() == [*shown[1][:1], "", "", ""]
    run_blocks(blocks[2:], names)
    assert tuple(names["log_likelihood"].shape) == (2,)
    assert np.isfinite(float(names["loss"]))
    assert names["tags"].shape == (2, 4)
