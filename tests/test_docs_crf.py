"""The code of docs/crf.md, block after block as a reader would run it."""

import re

import keras
import numpy as np
import pytest
from conftest import ROOT
from layer_checks import run_saved_model

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Export is TensorFlow's."
)


def test_the_blocks_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "crf.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 5
    names = {}
    for block in blocks[:2]:
        exec(block, names)
    printed = capsys.readouterr().out
    tags = names["tags"]
    shown = [[names["names"][tag] for tag in row] for row in tags]
    assert str(shown) in printed
    assert tags.dtype == "int32" and tags.shape == (2, 4)
    assert np.all(tags[1, 1:] == 0)
    (served,) = run_saved_model("tagger", [names["x"]])
    np.testing.assert_array_equal(served, tags)
    for block in blocks[2:]:
        exec(block, names)
    assert tuple(names["log_likelihood"].shape) == (2,)
    assert np.isfinite(float(names["loss"]))
    assert names["tags"].shape == (2, 4)
