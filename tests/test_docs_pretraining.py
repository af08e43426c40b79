"""The code of docs/pretraining.md."""

import pathlib
import shutil

import numpy as np
import pytest
from doc_snippets import read_blocks
from doc_snippets import run_blocks
from keras import ops
from small_models import ENGLISH_TINY


@pytest.mark.exhaustive
def test_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ENGLISH_TINY, "my_elmo")
    pathlib.Path("corpus").mkdir()
    text = "the boat left the bank of the river\n" * 40
    pathlib.Path("corpus/a.txt").write_text(text)
    words = ["<S>", "</S>", "<UNK>", *dict.fromkeys(text.split())]
    pathlib.Path("vocab.txt").write_text("\n".join(words) + "\n")
    names = run_blocks(read_blocks("docs/pretraining.md"))
    losses = names["trainer"].history.history["loss"]
    assert losses[-1] < losses[0]
    # The states are those of the last window.
    states = map(ops.convert_to_numpy, names["trainer"].states)
    assert all(np.abs(state).max() > 0 for state in states)
    right, wrong = names["model"].log_probabilities(names["sentences"])
    assert (right > wrong).all()
