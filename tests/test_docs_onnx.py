"""The code of docs/onnx.md, run as a reader would."""

import pytest
from doc_snippets import read_blocks
from doc_snippets import run_blocks

pytest.importorskip("onnxruntime")


@pytest.mark.exhaustive
def test_the_block_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = run_blocks(read_blocks("docs/onnx.md"))
    shapes = {name: x.shape for name, x in names["vectors"].items()}
    assert shapes["elmo"] == (2, 3, 512) and shapes["default"] == (2, 512)
    printed = capsys.readouterr().out
    assert str(shapes) in printed
    scores = names["tagger"].predict(names["ids"], verbose=0)
    assert names["scores"].shape == (2, 4, 3)
    assert not names["scores"][1, 1:].any() and scores[1, 1:].all()
    numbers = scores.argmax(axis=-1)
    assert str([names["tags"][number] for number in numbers[0]]) in printed
    assert f"\n{[names['tags'][numbers[1, 0]]]}\n" in printed
