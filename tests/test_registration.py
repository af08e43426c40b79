"""Keras finds the classes of this package, imported or not."""

import importlib
import sys

import keras
import pytest

import keras_elmo
from keras_elmo import registration


@pytest.fixture
def registry(monkeypatch):
    """The Keras registry before any class of the package is imported."""
    for package in (keras_elmo, keras_elmo.pretraining):
        for name in package.__all__:
            getattr(package, name)
    known = keras.saving.get_custom_objects()
    ours = {k: v for k, v in known.items() if k.startswith("keras_elmo>")}
    for name in ours:
        monkeypatch.delitem(known, name)
    yield known, ours
    for name in ours:
        known.pop(name, None)


def test_classes_are_found_before_they_are_imported(registry):
    known, ours = registry
    known["keras_elmo>CRF"] = keras_elmo.CRF  # It is imported, and stays.
    registration.register_classes()
    assert known["keras_elmo>CRF"] is ours.pop("keras_elmo>CRF")
    assert {*ours, "keras_elmo>CRF"} == {
        name for name in known if name.startswith("keras_elmo>")
    }
    for name, cls in ours.items():
        assert known[name] is not cls
        module, class_name = known[name]._module, known[name]._name
        assert getattr(importlib.import_module(module), class_name) is cls
    mix = keras_elmo.ScalarMix(layer_norm=True, name="mix")
    config = keras.saving.serialize_keras_object(mix)
    again = keras.saving.deserialize_keras_object(config)
    assert type(again) is keras_elmo.ScalarMix
    assert again.get_config() == mix.get_config()


def test_a_function_is_called_after_an_import(tmp_path, monkeypatch):
    (tmp_path / "imported_later.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    values = []
    finder = registration._Finder(
        "imported_later", lambda module: values.append(module.value)
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
