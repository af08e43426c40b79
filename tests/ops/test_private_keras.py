"""Keras's private API is used in one file only, and still exists."""

import ast
import importlib
import pathlib
import re
import sys

import keras
import numpy as np
import pytest
from comparisons import assert_equal
from conftest import ROOT
from keras import ops
from small_models import make_shallow_elmo

import keras_elmo
from keras_elmo.ops import private_keras

# Private attributes of Keras classes; other files must not use these names.
PRIVATE = {
    "_accumulators",
    "_flatten_layers",
    "_keras_history",
    "_keras_mask",
    "_layers",
    "_nodes",
    "_tracker",
}


def test_no_other_file_knows_of_it():
    paths = pathlib.Path(keras_elmo.__file__).parent.rglob("*.py")
    for path in {*paths} - {pathlib.Path(private_keras.__file__)}:
        for node in ast.walk(ast.parse(path.read_text())):
            names = {getattr(node, key, None) for key in ("attr", "module")}
            if isinstance(node, ast.Constant):
                names.add(node.value)
            assert not names & PRIVATE, path
            module = getattr(node, "module", None) or ""
            assert not module.startswith("keras.src"), path


def test_an_error_names_the_version_of_keras(monkeypatch):
    """Without a private name, the package imports, and says what is wrong."""
    monkeypatch.setitem(sys.modules, "keras.src.backend.common.masking", None)
    importlib.reload(private_keras)  # Nothing is imported yet.
    version = f"does not work with Keras {keras.__version__}"
    with pytest.raises(ImportError, match=f"{version}.*masking"):
        private_keras.get_mask(np.ones(2))
    monkeypatch.delattr(keras.layers.Layer, "_flatten_layers")
    with pytest.raises(ImportError, match=f"{version}.*_flatten_layers"):
        private_keras.sublayers(keras.layers.Dense(1))
    with pytest.raises(ImportError, match=f"{version}.*_keras_history"):
        private_keras.layer_of(object())
    x = keras.layers.Dense(1)(keras.Input((3,)))
    monkeypatch.delattr(private_keras.layer_of(x), "_inbound_nodes")
    with pytest.raises(ImportError, match=f"{version}.*_inbound_nodes"):
        next(private_keras.masks_above(x))


def test_the_error_names_the_versions_that_were_tried():
    """It fails with a version of Keras that is not among them."""
    tried = re.findall(r"\b3\.\d+", private_keras._TRIED.split(":")[0])
    oldest, released, next_one = tried
    first, used, last = (
        tuple(map(int, version.split(".")[:2]))
        for version in (oldest, keras.__version__, next_one)
    )
    assert first <= used <= last
    assert f"\nkeras=={oldest}." in (ROOT / "tests/oldest.txt").read_text()
    about = (ROOT / "docs/about.md").read_text()
    assert f"and Keras {oldest} to {released}." in about
    assert f"the pre-release of Keras {next_one}," in about


def test_sublayers():
    elmo = make_shallow_elmo()
    direct = list(private_keras.sublayers(elmo, recursive=False))
    everything = list(private_keras.sublayers(elmo))
    cell = elmo.encoder.forward_cells[0]
    assert elmo.token_encoder in direct and elmo.token_encoder in everything
    assert cell not in direct and cell in everything
    assert elmo not in everything


def test_what_keras_knows_of_tensors_and_scopes():
    dense = keras.layers.Dense(2)
    assert private_keras.layer_of(dense(keras.Input((3,)))) is dense
    x = keras.layers.Embedding(3, 2, mask_zero=True)(np.array([[1, 0]]))
    assert_equal(private_keras.get_mask(x), [[True, False]])
    assert private_keras.get_mask(ops.zeros_like(x)) is None
    assert not private_keras.in_stateless_scope()
    with keras.StatelessScope():
        assert private_keras.in_stateless_scope()
