import json
import os
import pathlib
import shutil

import numpy as np
import pytest

import keras_elmo
from keras_elmo.models.find_model import find_model

pytestmark = pytest.mark.usefixtures("portable_module")
FILES = ["options.json", "softmax.hdf5", "vocab.txt", "weights.hdf5"]
PRESET_FILES = ["config.json", "metadata.json", "model.weights.h5"]


@pytest.fixture
def checkpoint(shared):
    return shared / "reference/bilm_tf_checkpoint"


def embed(*files):
    elmo = keras_elmo.ElmoLayer.from_bilm(*files, return_all_layers=True)
    ids = keras_elmo.batch_to_ids([["The", "cat", "sat", "."], ["A", "dog"]])
    return np.asarray(elmo(ids))


def check_summary(lines, files):
    assert lines[0] == "'model' contains:"
    assert sorted(line.split()[0] for line in lines[1:-1]) == files
    assert sorted(os.listdir("model")) == files
    loads = 'To load it: keras_elmo.ElmoLayer.from_preset("model")'
    assert lines[-1] == loads


def test_a_checkpoint(checkpoint, shows):
    check_summary(shows("convert", checkpoint, "model"), FILES)
    # The files that bilm-tf dumped from the checkpoint.
    files = checkpoint / "options.json", checkpoint / "weights.hdf5"
    np.testing.assert_array_equal(embed("model"), embed(*files))
    source = find_model(checkpoint).open_language_model()
    found = find_model("model").open_language_model()
    assert found.read_vocabulary()[1] == source.read_vocabulary()[1]
    softmax = found.read_softmax()
    for key, array in source.read_softmax().items():
        np.testing.assert_array_equal(softmax[key], array)

    options = json.loads(pathlib.Path("model/options.json").read_text())
    before = json.loads(files[0].read_text())
    assert options["char_cnn"].pop("n_characters") == 262
    assert before["char_cnn"].pop("n_characters") == 261
    assert options == before


def test_half_the_size_and_in_place(checkpoint, shows, fails):
    shows("convert", checkpoint, "model")
    whole = embed("model")
    sizes = {name: os.path.getsize(f"model/{name}") for name in FILES}
    command = ["convert", "model", "model", "--output-dtype", "float16"]
    told = "'model' exists. To replace it, pass --overwrite"
    assert told in fails(*command)
    check_summary(shows(*command, "--overwrite"), FILES)
    for name in ("softmax.hdf5", "weights.hdf5"):
        assert os.path.getsize(f"model/{name}") < 0.6 * sizes[name]
    np.testing.assert_allclose(embed("model"), whole, atol=0.01)
    assert os.listdir() == ["model"]


def test_a_model_without_softmax_and_vocabulary(checkpoint, shows):
    os.mkdir("bare")
    shutil.copy(checkpoint / "weights.hdf5", "bare/elmo.hdf5")
    options = json.loads((checkpoint / "options.json").read_text())
    # Like those of published models.
    options = {key: options[key] for key in ("char_cnn", "lstm")}
    pathlib.Path("bare/options.json").write_text(json.dumps(options))
    for folder in ("b/c", "english_pos"):
        lines = shows("convert", "bare", folder)
        told = "MODEL has no softmax.hdf5 or vocab.txt: it cannot predict "
        assert lines[3] == f"{told}words."
        np.testing.assert_array_equal(embed(folder), embed("bare"))
    # It is also the name of a tagger.
    assert 'from_preset("./english_pos")' in lines[-1]


def test_a_folder_with_files_of_others_is_not_replaced(checkpoint, fails):
    os.mkdir("full")
    pathlib.Path("full/notes.txt").write_text("mine")
    told = fails("convert", checkpoint, "full", "--overwrite")
    names = "['options.json', 'softmax.hdf5', 'vocab.txt', 'weights.hdf5']"
    assert f"files other than {names}. Received: ['notes.txt']" in told
    assert os.listdir("full") == ["notes.txt"]


def test_a_model_of_elmo_for_many_langs(shared, shows, fails):
    stored = shared / "reference/elmo_for_many_langs/char_and_word"
    check_summary(shows("convert", stored, "model"), PRESET_FILES)
    shows("convert", stored, "model", "--overwrite")
    found = keras_elmo.ElmoLayer.from_preset("model").get_weights()
    expected = keras_elmo.ElmoLayer.from_preset(stored).get_weights()
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)
    said = fails("convert", stored, "other", "--output-dtype", "float16")
    assert "--output-dtype must be left out" in said
    assert os.listdir() == ["model"]
