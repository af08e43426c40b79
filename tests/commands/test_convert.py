import json
import os
import pathlib
import shutil

import numpy as np
import pytest
from fast_paths import use_fast_paths

import keras_elmo
from keras_elmo.commands.main import main
from keras_elmo.formats import bilm_files

pytestmark = pytest.mark.usefixtures("portable_module")
FILES = ["options.json", "softmax.hdf5", "vocab.txt", "weights.hdf5"]


@pytest.fixture
def checkpoint(shared, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return shared / "reference/bilm_tf_checkpoint"


def convert(*arguments):
    assert main(["convert", *map(str, arguments)]) == 0


def embed(*files):
    elmo = keras_elmo.ElmoLayer.from_bilm(*files, return_all_layers=True)
    ids = keras_elmo.batch_to_ids([["The", "cat", "sat", "."], ["A", "dog"]])
    return np.asarray(elmo(ids))


@pytest.fixture
def perplexity(capsys):
    def measure(model, text):
        capsys.readouterr()
        use_fast_paths(True)  # Faster even without graphs.
        assert main(["perplexity", str(model), str(text), "--json"]) == 0
        use_fast_paths(False)
        return json.loads(capsys.readouterr().out)["perplexity"]

    return measure


@pytest.mark.in_graphs(False)
@pytest.mark.filterwarnings("ignore:The vocabulary has 67.8% of the text")
def test_a_checkpoint(checkpoint, perplexity, capsys):
    convert(checkpoint, "model")
    out, err = capsys.readouterr()
    assert not err
    lines = out.splitlines()
    assert lines[0] == "'model' contains:"
    assert sorted(line.split()[0] for line in lines[1:5]) == FILES
    loads = 'To load it: keras_elmo.ElmoLayer.from_preset("model")'
    assert lines[5:] == [loads]
    assert sorted(os.listdir("model")) == FILES
    # The files that bilm-tf dumped from the checkpoint.
    files = checkpoint / "options.json", checkpoint / "weights.hdf5"
    np.testing.assert_array_equal(embed("model"), embed(*files))
    text = checkpoint / "heldout.txt"
    assert perplexity("model", text) == pytest.approx(54.2089, rel=1e-3)

    options = json.loads(pathlib.Path("model/options.json").read_text())
    before = json.loads(files[0].read_text())
    assert options["char_cnn"].pop("n_characters") == 262
    assert before["char_cnn"].pop("n_characters") == 261
    assert options == before


def test_half_the_size_and_in_place(checkpoint, fails):
    convert(checkpoint, "model")
    whole = embed("model")
    sizes = {name: os.path.getsize(f"model/{name}") for name in FILES}
    said = fails("convert", "model", "model", "--output-dtype", "float16")
    assert "'model' exists. To replace it, pass --overwrite" in said
    convert("model", "model", "--output-dtype", "float16", "--overwrite")
    for name in ("softmax.hdf5", "weights.hdf5"):
        assert os.path.getsize(f"model/{name}") < 0.6 * sizes[name]
    np.testing.assert_allclose(embed("model"), whole, atol=0.01)
    assert os.listdir() == ["model"]
    assert sorted(os.listdir("model")) == FILES


def test_a_model_without_softmax_and_vocabulary(checkpoint, capsys):
    os.mkdir("bare")
    shutil.copy(checkpoint / "weights.hdf5", "bare/elmo.hdf5")
    options = json.loads((checkpoint / "options.json").read_text())
    # Like those of published models.
    options = {key: options[key] for key in ("char_cnn", "lstm")}
    pathlib.Path("bare/options.json").write_text(json.dumps(options))
    shutil.make_archive("zipped", "zip", "bare")
    for model, folder in [("bare", "a"), ("zipped.zip", "b/c")]:
        convert(model, folder)
        out = capsys.readouterr().out
        assert (
            "MODEL has no softmax.hdf5 or vocab.txt: it cannot predict words."
        ) in out.splitlines()
        assert sorted(os.listdir(folder)) == ["options.json", "weights.hdf5"]
        np.testing.assert_array_equal(embed(folder), embed("bare"))


def test_a_folder_is_written_whole_or_not_at_all(
    checkpoint, monkeypatch, fails
):
    def fail(*_):
        raise OSError("The disk is full.")

    convert(checkpoint, "model")
    before = {name: os.stat(f"model/{name}") for name in FILES}
    with monkeypatch.context() as patch:
        patch.setattr(bilm_files, "write_softmax", fail)
        for arguments in [("new",), ("model", "--overwrite")]:
            said = fails("convert", checkpoint, *arguments)
            assert "The disk is full." in said
    assert os.listdir() == ["model"]
    assert sorted(os.listdir("model")) == sorted(FILES)
    assert {name: os.stat(f"model/{name}") for name in FILES} == before


def test_errors(checkpoint, fails):
    os.mkdir("full")
    pathlib.Path("full/notes.txt").write_text("mine")
    pathlib.Path("file").write_text("mine")
    os.mkdir("empty")
    for arguments, told in [
        ((checkpoint, "full"), "'full' is not replaced"),
        (
            (checkpoint, "full", "--overwrite"),
            "files other than ['options.json', 'softmax.hdf5', 'vocab.txt', "
            "'weights.hdf5']. Received: ['notes.txt']",
        ),
        (
            (checkpoint, "file", "--overwrite"),
            "The output must be a folder. Received a file: 'file'",
        ),
        (("none", "new"), "nor a file or directory. Expected one of"),
        (("empty", "new"), "'empty' holds no model: expected options.json"),
    ]:
        assert told in fails("convert", *arguments)
    assert sorted(os.listdir()) == ["empty", "file", "full"]
    assert os.listdir("full") == ["notes.txt"]


PRESET_FILES = ["config.json", "metadata.json", "model.weights.h5"]


def test_a_model_of_elmo_for_many_langs(
    shared, tmp_path, monkeypatch, fails, capsys
):
    monkeypatch.chdir(tmp_path)
    stored = shared / "reference/elmo_for_many_langs/char_and_word"
    convert(stored, "model")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "'model' contains:"
    assert [line.split()[0] for line in lines[1:4]] == PRESET_FILES
    assert lines[4:] == [
        'To load it: keras_elmo.ElmoLayer.from_preset("model")'
    ]
    assert sorted(os.listdir("model")) == PRESET_FILES
    found = keras_elmo.ElmoLayer.from_preset("model").get_weights()
    expected = keras_elmo.ElmoLayer.from_preset(stored).get_weights()
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)

    said = fails("convert", stored, "model")
    assert "'model' exists. To replace it, pass --overwrite" in said
    convert(stored, "model", "--overwrite")
    said = fails("convert", stored, "other", "--output-dtype", "float16")
    assert "--output-dtype must be left out" in said
    assert not os.path.exists("other")
    pathlib.Path("model/notes.txt").write_text("mine")
    said = fails("convert", stored, "model", "--overwrite")
    assert "Received: ['notes.txt']" in said
    assert "model.weights.h5" in os.listdir("model")


def test_a_folder_with_the_name_of_a_tagger(checkpoint, capsys):
    convert(checkpoint, "english_pos")
    assert 'from_preset("./english_pos")' in capsys.readouterr().out
