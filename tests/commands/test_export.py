import os
import pathlib
from unittest import mock

import keras
import numpy as np
import onnxruntime
import pytest
from small_models import make_elmo
from tagging.small_taggers import crf_tagger

from keras_elmo import batch_to_ids
from keras_elmo.commands import export as module
from keras_elmo.serving import export_saved_model as serving

pytestmark = pytest.mark.usefixtures("portable_module")
IDS = batch_to_ids([["The", "cat", "sat", "."], ["東京", "!"]], 12)


@pytest.fixture
def elmo():
    elmo = make_elmo()
    os.mkdir("model")
    elmo.save_to_bilm("model/options.json", "model/weights.hdf5")
    return elmo


@pytest.fixture
def tagger(folder):
    crf_tagger().save(folder / "tagger.keras")


@pytest.mark.exhaustive
def test_a_tagger_in_a_folder_that_is_no_version(elmo, tagger, shows):
    arguments = "tagger.keras", "served", "--serving-default", "tokens"
    lines = shows("export", *arguments)
    files = filter(os.path.isfile, pathlib.Path("served").rglob("*"))
    size = sum(map(os.path.getsize, files)) / 1e6
    assert lines[:4] == [
        f"'served' is a SavedModel, {size:.2f} MB.",
        "",
        "Inputs by signature:",
        "  character_ids: ids",
    ]
    assert "  serving_default: sequence_len, tokens" in lines
    assert lines[-4:] == [
        "  tags: int32 (batch, time)",
        "  tags_labels: string (batch, time)",
        "  tokens: string (batch, time)",
        "TensorFlow Serving needs a version number as its name.",
    ]
    lines = shows("export", "model", "my elmo/1")
    assert lines[-1] == "  word_emb: float32 (batch, time, 6)"


def test_options_are_passed_on(elmo, monkeypatch, shows):
    write = mock.Mock()
    monkeypatch.setattr(serving, "export_saved_model", write)
    monkeypatch.setattr(module, "print_summary", print)
    assert shows("export", "model", "served") == ["served"]
    assert write.call_args.args[1] == "served"
    options = {"serving_default": "default", "overwrite": False}
    assert write.call_args.kwargs == options
    os.rename("model/weights.hdf5", "mine.hdf5")
    names = ["model/options.json", "served", "--weights", "mine.hdf5"]
    shows("export", *names, "--overwrite", "--serving-default", "tokens")
    options = {"serving_default": "tokens", "overwrite": True}
    assert write.call_args.kwargs == options
    found = write.call_args.args[0].all_layers(IDS)
    np.testing.assert_allclose(found, elmo.all_layers(IDS), atol=1e-5)
    shows("export", *names, "--dtype", "mixed_bfloat16")
    assert write.call_args.args[0].dtype_policy.name == "mixed_bfloat16"


class Foreign(keras.layers.Layer):
    """A layer that is not registered in other processes."""

    def call(self, x):
        return x


def test_errors_are_lines_and_leave_nothing(elmo, tagger, fails):
    ids = keras.Input((None, 12), dtype="int32")
    keras.Model(ids, Foreign()(ids)).save("foreign.keras")
    words = keras.Input((), dtype="string")
    keras.Model(words, keras.layers.Identity()(words)).save("strings.keras")
    pathlib.Path("broken.keras").write_text("none")
    before = sorted(os.listdir())
    for arguments, told in [
        ("none served", "There is no preset of that name, nor a file or"),
        ("broken.keras served", "broken.keras"),
        ("foreign.keras served", "must be made of layers of Keras and keras_"),
        ("strings.keras served", "The model must have one input, character"),
        ("model/options.json served", "an options file and its weight file"),
        ("tagger.keras served --dtype float32", "--dtype must be left out"),
        ("model a.onnx --dtype float32", "is for a SavedModel: OUTPUT must no"),
        ("model a.onnx --serving-default tokens", "--serving-default is for a"),
        ("model served --quantize int8", "must end in .onnx. Received: served"),
    ]:
        assert told in fails("export", *arguments.split())
    assert sorted(os.listdir()) == before


def test_another_backend_is_told_at_once(monkeypatch, fails):
    monkeypatch.setattr(keras.backend, "backend", lambda: "torch")
    said = fails("export", "none", "served")
    assert "KERAS_BACKEND=tensorflow. Received: torch" in said


def test_an_onnx_file(elmo, fails, shows):
    pathlib.Path("elmo.onnx").write_text("mine")
    arguments = "export", "model", "elmo.onnx", "--quantize", "int8"
    told = "'elmo.onnx' exists. To replace it, pass --overwrite."
    assert told in fails(*arguments)
    lines = shows(*arguments, "--overwrite")
    size = os.path.getsize("elmo.onnx")
    assert lines[:6] == [
        f"'elmo.onnx' is an ONNX model, {size / 1e6:.2f} MB.",
        "",
        "Inputs:",
        "  ids: int32 (batch, time, 12)",
        "Outputs:",
        "  word_emb: float32 (batch, time, 6)",
    ]
    session = onnxruntime.InferenceSession("elmo.onnx")
    (found,) = session.run(["elmo"], {"ids": IDS})
    difference = np.linalg.norm(found - np.mean(elmo.all_layers(IDS), axis=1))
    assert 0 < difference < 0.2 * np.linalg.norm(found)  # It is quantized.
