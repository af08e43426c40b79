"""Keras's private API is used in one file only, and still exists."""

import ast
import importlib
import pathlib
import re
import sys

import keras
import numpy as np
import pytest
from conftest import ROOT
from keras import ops
from small_models import make_elmo

import keras_elmo
from keras_elmo.ops import private_keras

PACKAGE = pathlib.Path(keras_elmo.__file__).parent
MODULES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.name != "private_keras.py"
]
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
    found = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in PRIVATE:
                found.append((path.name, node.attr))
            module = getattr(node, "module", None) or ""
            if module.startswith("keras.src"):
                found.append((path.name, module))
            if isinstance(node, ast.Constant) and node.value in PRIVATE:
                found.append((path.name, node.value))
    assert found == []


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
    elmo = make_elmo()
    direct = list(private_keras.sublayers(elmo, recursive=False))
    assert elmo.token_encoder in direct
    assert elmo not in direct
    everything = list(private_keras.sublayers(elmo))
    assert {id(x) for x in direct} < {id(x) for x in everything}
    assert elmo.encoder.forward_cells[0] in everything


def test_layer_of_a_symbolic_tensor():
    dense = keras.layers.Dense(2)
    assert private_keras.layer_of(dense(keras.Input((3,)))) is dense


def test_masks():
    embedding = keras.layers.Embedding(3, 2, mask_zero=True)
    x = embedding(np.array([[1, 0]]))
    mask = ops.convert_to_numpy(private_keras.get_mask(x))
    np.testing.assert_array_equal(mask, [[True, False]])
    y = ops.zeros_like(x)
    assert private_keras.get_mask(y) is None


def test_stateless_scope():
    assert not private_keras.in_stateless_scope()
    with keras.StatelessScope():
        assert private_keras.in_stateless_scope()
