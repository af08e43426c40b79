"""The code of docs/faq.md, run block by block as a reader would."""

import keras
import numpy as np
import pytest
from doc_snippets import read_blocks
from doc_snippets import run_blocks

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Masks are TensorFlow's."
)
PAGE = "docs/faq.md"


def test_the_blocks_run(capsys, portable_path):
    blocks = read_blocks(PAGE)
    assert len(blocks) == 4
    names = run_blocks(blocks)
    printed = capsys.readouterr().out
    assert "[[True, True, True], [True, True, False]]\n" in printed
    pooled = names["model"](names["ids"])
    np.testing.assert_allclose(pooled, names["vectors"], atol=1e-5)
    assert names["cropped"] == [(0, 0, "a" * 60)]
