"""The code of README.md, each block in a file of its own."""

import keras
import numpy as np
import pytest
from doc_snippets import read_blocks
from doc_snippets import run_blocks

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Export is TensorFlow's."
)


def test_the_blocks_run(
    tmp_path, monkeypatch, capsys, portable_path, built_optimizers
):
    monkeypatch.chdir(tmp_path)
    start, embed, serve, tagger = read_blocks("README.md")
    names = run_blocks([start])
    assert names["vectors"].shape == (2, 3, 256)
    run_blocks([tagger], names)
    assert (tmp_path / "served/tagger/1/saved_model.pb").is_file()

    names = run_blocks([embed])
    assert capsys.readouterr().out == "(3, 2, 256)\n(3, 1, 256)\n"
    assert names["means"][0].shape == (3, 256)

    names = run_blocks([serve])
    assert names["folder"] == "served/elmo/1"
    assert names["vectors"].shape == (2, 3, 256)
    assert np.all(names["vectors"][1, 2] == 0)
