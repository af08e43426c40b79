"""The code of docs/faq.md, run block by block as a reader would."""

import keras
import pytest
from doc_snippets import read_blocks
from doc_snippets import run_blocks

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Masks are TensorFlow's."
)
PAGE = "docs/faq.md"


def test_the_blocks_run(tmp_path, monkeypatch, capsys, portable_path):
    monkeypatch.chdir(tmp_path)
    blocks = read_blocks(PAGE)
    assert len(blocks) == 13
    names = run_blocks(blocks)
    printed = capsys.readouterr().out
    assert names["layers"].shape == (3, 3, 512)
    for line in (
        "(3, 3, 512)\n(2, 512)\n[0.33 0.33 0.33] 1.0\n",
        "takes ids from 0 to 261. Received: ids from ",
        "[[True, True, True], [True, True, False]]\n",
        "(1, 3, 512) (1, 2, 512)\n",
        "(3, 3, 512)\n(3, 2, 512)\n",
    ):
        assert line in printed
    assert names["cropped"] == [(0, 0, "a" * 60)]
    tuned = names["tuned"]
    assert tuned.encoder.trainable and not tuned.token_encoder.trainable
    assert len(tuned.trainable_variables) == 18
