import json
import os
import pathlib
import shlex
import zipfile

import keras
import numpy as np
import onnxruntime
import pytest
import tensorflow as tf
from full_disk import no_file_over
from small_models import make_elmo

from keras_elmo import CRF
from keras_elmo import CRFDecoder
from keras_elmo import batch_to_ids
from keras_elmo.commands import export as module
from keras_elmo.commands.main import main
from keras_elmo.serving import export_saved_model as serving

pytestmark = pytest.mark.usefixtures("portable_module")
SENTENCES = ["The cat sat .", "東京 !"]
IDS = batch_to_ids([sentence.split() for sentence in SENTENCES], 12)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def elmo():
    elmo = make_elmo()
    os.mkdir("model")
    elmo.save_to_bilm("model/options.json", "model/weights.hdf5")
    return elmo


@pytest.fixture
def tagger():
    ids = keras.Input((None, 12), dtype="int32")
    scores = CRF(2)(keras.layers.Dense(2)(make_elmo()(ids)))
    decoder = CRFDecoder(tag_names=["naïve", "O"], name="tags")
    model = keras.Model(ids, decoder(scores))
    model.save("tagger.keras")
    return model


def export(capsys, *arguments):
    """Runs the command; returns the printed lines."""
    capsys.readouterr()
    assert main(["export", *map(str, arguments)]) == 0
    out, err = capsys.readouterr()
    assert not err
    return out.splitlines()


def ask(folder, signature="serving_default"):
    served = tf.saved_model.load(folder).signatures[signature]
    return {k: v.numpy() for k, v in served(tf.constant(SENTENCES)).items()}


def average(elmo):
    """The mix of a biLM's files, which do not store one: the mean."""
    return np.mean(elmo.all_layers(IDS), axis=1)


@pytest.mark.exhaustive
def test_an_elmo_layer(elmo, capsys):
    lines = export(capsys, "model", "served/elmo/1")
    size = sum(
        path.stat().st_size
        for path in pathlib.Path("served/elmo/1").rglob("*")
        if path.is_file()
    )
    vectors = "float32 (batch, time, 12)"
    assert lines == [
        f"'served/elmo/1' is a SavedModel, {size / 1e6:.2f} MB.",
        "",
        "Inputs by signature:",
        "  character_ids: ids",
        "  default: strings",
        "  serving_default: strings",
        "  tokens: sequence_len, tokens",
        "Outputs:",
        "  default: float32 (batch, 12)",
        f"  elmo: {vectors}",
        f"  lstm_outputs1: {vectors}",
        f"  lstm_outputs2: {vectors}",
        "  word_emb: float32 (batch, time, 6)",
        "",
        "To serve it:",
        "  docker run --rm -p 8500:8500 -p 8501:8501 "
        f"-v {os.getcwd()}/served/elmo:/models/elmo \\",
        "      -e MODEL_NAME=elmo tensorflow/serving",
        "and to query it:",
        "  curl http://localhost:8501/v1/models/elmo:predict \\",
        """      -d '{"signature_name": "default", """
        """"instances": ["First sentence ."]}'""",
    ]
    found = ask("served/elmo/1")["elmo"]
    np.testing.assert_allclose(found, average(elmo), atol=1e-5)


@pytest.fixture
def exported(monkeypatch):
    """The calls of `export_saved_model`, which is replaced by a stub."""
    calls = []

    def record(model, path, **options):
        calls.append((model, {"path": path, **options}))

    monkeypatch.setattr(serving, "export_saved_model", record)
    monkeypatch.setattr(module, "print_summary", print)
    return calls


def test_a_model_of_two_files(elmo, exported, capsys):
    os.rename("model/weights.hdf5", "mine.hdf5")
    export(capsys, "model/options.json", "served", "--weights", "mine.hdf5")
    found = exported[-1][0].all_layers(IDS)
    np.testing.assert_allclose(found, elmo.all_layers(IDS), atol=1e-5)


def test_options_are_passed_on(elmo, exported, capsys):
    assert export(capsys, "model", "served") == ["served"]
    assert exported[-1][1] == {
        "path": "served",
        "serving_default": "default",
        "overwrite": False,
    }
    options = ["--overwrite", "--serving-default", "tokens"]
    export(capsys, "model", "served", *options, "--dtype", "mixed_bfloat16")
    model, passed = exported[-1]
    assert model.dtype_policy.name == "mixed_bfloat16"
    assert passed["overwrite"] and passed["serving_default"] == "tokens"


@pytest.mark.exhaustive
def test_a_tagger_with_the_names_of_its_tags(tagger, capsys):
    lines = export(
        capsys,
        *("tagger.keras", "served/my tagger/7"),
        *("--serving-default", "tokens"),
    )
    assert lines[0].startswith("'served/my tagger/7' is a SavedModel, ")
    start = lines.index("Outputs:")
    assert lines[start + 1 : start + 4] == [
        "  tags: int32 (batch, time)",
        "  tags_labels: string (batch, time)",
        "  tokens: string (batch, time)",
    ]
    assert "  serving_default: sequence_len, tokens" in lines[:start]
    command = shlex.split("\n".join(lines[lines.index("To serve it:") + 1 :]))
    path = f"{os.getcwd()}/served/my tagger"
    assert f"{path}:/models/my tagger" in command
    assert "MODEL_NAME=my tagger" in command
    assert "http://localhost:8501/v1/models/my%20tagger:predict" in command
    assert command[-1].startswith('{"signature_name": "default", "instances"')

    answer = ask("served/my tagger/7", "default")
    tags = np.asarray(tagger(IDS))
    np.testing.assert_array_equal(answer["tags"], tags)
    names = np.array(["naïve".encode(), b"O"], object)[tags]
    names[1, 2:] = b""
    np.testing.assert_array_equal(answer["tags_labels"], names)


class Foreign(keras.layers.Layer):
    """A layer that is not registered in other processes."""

    def call(self, x):
        return x


def write_damaged(source, path):
    """Copies a model without its layers: Keras raises RuntimeError."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "config.json":
                config = json.loads(content)
                config["config"]["layers"] = []
                content = json.dumps(config)
            new.writestr(name, content)


def test_errors_are_lines_and_leave_nothing(elmo, tagger, fails):
    ids = keras.Input((None, 12), dtype="int32")
    keras.Model(ids, Foreign()(ids)).save("foreign.keras")
    words = keras.Input((), dtype="string")
    keras.Model(words, keras.layers.Identity()(words)).save("strings.keras")
    pathlib.Path("broken.keras").write_text("none")
    write_damaged("tagger.keras", "damaged.keras")
    for arguments, told in [
        (["none"], "There is no preset of that name, nor a file or directory."),
        (["none.keras"], "nor a file or directory."),
        (["broken.keras"], "broken.keras"),
        (["damaged.keras"], "'damaged.keras' cannot be loaded"),
        (["foreign.keras"], "must be made of layers of Keras and keras_elmo"),
        (["strings.keras"], "The model must have one input, character ids"),
        (["model/options.json"], "an options file and its weight file"),
        (["tagger.keras", "--weights", "w"], "--weights must be left out"),
        (["tagger.keras", "--dtype", "float32"], "--dtype must be left out"),
    ]:
        model, *options = arguments
        assert told in fails("export", model, "served/x", *options), arguments
    assert not os.path.exists("served/x")


@pytest.mark.exhaustive
def test_a_full_disk_is_told_in_a_line(elmo, fails):
    with no_file_over(5_000):
        line = fails("export", "model", "served")
    assert "error: 'served' cannot be written: " in line
    assert "File too large" in line
    assert os.listdir() == ["model"]


@pytest.mark.parametrize("name", ["text.txt/elmo", "text.txt/elmo.onnx"])
def test_a_file_is_no_folder(elmo, fails, name):
    pathlib.Path("text.txt").touch()
    line = fails("export", "model", name)
    assert "Errno" not in line and "text.txt" in line


@pytest.mark.exhaustive
def test_a_folder_without_a_number_is_told(elmo, capsys):
    lines = export(capsys, "model", "served")
    assert lines[-1] == "TensorFlow Serving needs a version number as its name."


def test_what_cannot_be_understood(capsys):
    with pytest.raises(SystemExit) as error:
        main(["export", "model", "served", "--serving-default", "serve"])
    assert error.value.code == 2
    assert "invalid choice: 'serve'" in capsys.readouterr().err


def test_another_backend_is_told_at_once(monkeypatch, fails):
    monkeypatch.setattr(keras.backend, "backend", lambda: "torch")
    said = fails("export", "none", "served")
    assert "KERAS_BACKEND=tensorflow. Received: torch" in said


def test_an_onnx_file(elmo, fails, capsys):
    pathlib.Path("elmo.onnx").write_text("mine")
    arguments = "model", "elmo.onnx", "--quantize", "int8"
    said = fails("export", *arguments)
    assert "'elmo.onnx' exists. To replace it, pass --overwrite." in said
    assert pathlib.Path("elmo.onnx").read_text() == "mine"
    lines = export(capsys, *arguments, "--overwrite")
    size = os.path.getsize("elmo.onnx")
    vectors = "float32 (batch, time, 12)"
    assert lines == [
        f"'elmo.onnx' is an ONNX model, {size / 1e6:.2f} MB.",
        "",
        "Inputs:",
        "  ids: int32 (batch, time, 12)",
        "Outputs:",
        "  word_emb: float32 (batch, time, 6)",
        f"  lstm_outputs1: {vectors}",
        f"  lstm_outputs2: {vectors}",
        f"  elmo: {vectors}",
        "  default: float32 (batch, 12)",
    ]


def test_an_onnx_file_of_a_tagger(tagger, capsys):
    lines = export(capsys, "tagger.keras", "tagger.onnx")
    assert lines[5:] == ["  tags: int32 (batch, time)"]
    session = onnxruntime.InferenceSession("tagger.onnx")
    metadata = session.get_modelmeta().custom_metadata_map
    assert json.loads(metadata["tags_tag_names"]) == ["naïve", "O"]
    (found,) = session.run(["tags"], {"ids": IDS})
    expected = keras.ops.convert_to_numpy(tagger(IDS))
    np.testing.assert_array_equal(found[0], expected[0])


def test_options_of_the_other_format_are_refused(elmo, fails):
    for name in ("--dtype=float32", "--serving-default=tokens"):
        line = fails("export", "model", "elmo.onnx", name)
        assert f"{name.split('=')[0]} is for a SavedModel" in line
    line = fails("export", "model", "served", "--quantize", "int8")
    assert "OUTPUT must end in .onnx. Received: served" in line
    assert os.listdir() == ["model"]
