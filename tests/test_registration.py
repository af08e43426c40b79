"""Keras finds the classes of this package, whichever is imported first."""

import importlib
import subprocess
import sys

import pytest
from tiers import quick_first

from keras_elmo import registration

PROGRAM = """
import importlib, sys
importlib.import_module(sys.argv[1])
import keras
import keras_elmo

known = keras.saving.get_registered_object
assert issubclass(known("keras_elmo>ElmoLayer"), keras.layers.Layer)
names = [x for x in keras.saving.get_custom_objects() if "keras_elmo>" in x]
assert "keras_elmo.pretraining" not in sys.modules
for name in names:
    assert known(name).__name__ == name.removeprefix("keras_elmo>"), name
print(*sorted(name.removeprefix("keras_elmo>") for name in names))
"""
NAMES = """
BiLMEncoder ByteIndexer CRF CRFAccuracy CRFDecoder CRFLoss CharCNNEmbedding
CharacterIndexer ElmoLayer Highway LexiconEmbedding ProjectedLSTMCell ScalarMix
SentencePooling WordVectorization WordVectors
"""


@pytest.mark.parametrize(
    "first",
    quick_first(
        [
            "keras_elmo",
            "keras",
            "keras_elmo.layers.highway",
            "keras_elmo.ops.padding",
            "keras_elmo.text.byte_indexer",
        ],
        1,
    ),
)
def test_keras_knows_the_classes(first):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, first], capture_output=True, text=True
    )
    assert done.stdout.split() == NAMES.split(), done.stderr


def test_a_function_is_called_after_an_import(tmp_path, monkeypatch):
    (tmp_path / "imported_later.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    values = []
    finder = registration._Finder(
        "imported_later",
        lambda: values.append(sys.modules["imported_later"].value),
    )
    others = [registration._Finder("not_there_at_all", print), *sys.meta_path]
    monkeypatch.setattr(sys, "meta_path", [finder, *others])
    # Looking for a module does not import it.
    assert importlib.util.find_spec("imported_later")
    assert importlib.util.find_spec("not_there_at_all") is None
    assert values == []
    module = importlib.import_module("imported_later")
    assert values == [1]
    assert sys.meta_path == others
    importlib.reload(module)
    assert values == [1]
    assert type(module.__loader__) is importlib.machinery.SourceFileLoader
