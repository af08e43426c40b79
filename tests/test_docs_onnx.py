"""The code of docs/onnx.md, run as a reader would."""

import pytest
from doc_snippets import read_blocks
from doc_snippets import run_blocks

pytest.importorskip("onnxruntime")


def test_the_block_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = run_blocks(read_blocks("docs/onnx.md"))
    shapes = {name: x.shape for name, x in names["vectors"].items()}
    assert shapes["elmo"] == (2, 3, 256) and shapes["default"] == (2, 256)
    assert str(shapes) in capsys.readouterr().out
