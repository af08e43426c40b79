"""Every reader, with corrupt or malicious files.

Each reader either reads the file, or raises an error that names it and says
why. None crashes, hangs, exhausts the memory or runs code from the file.
"""

import gzip
import os
import pathlib
import shutil
import zipfile

import h5py
import keras
import numpy as np
import pytest
from formats.checkpoints import write_checkpoint
from fuzzing import damaged
from fuzzing import damaged_json
from fuzzing import reads_or_says_why
from hypothesis import given
from hypothesis import strategies as st
from small_models import file_arrays
from small_models import make_elmo

from keras_elmo import ElmoLayer
from keras_elmo.commands.main import main
from keras_elmo.files import untrusted_files
from keras_elmo.files.model_folder import ModelFolder
from keras_elmo.formats.bilm_files import open_bilm
from keras_elmo.formats.tensorflow_checkpoints import open_checkpoint
from keras_elmo.formats.torch_state_dicts import read_state_dict
from keras_elmo.formats.weight_files import read_arrays
from keras_elmo.models.find_model import find_model
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.text.vocabulary import vocabulary_words

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="Files are read alike on every backend.",
)
WORDS = b"<S>\n</S>\n<UNK>\nthe\nw\xc3\xb6rd\ncat\n"


@pytest.fixture(scope="module")
def elmo():
    return make_elmo({"num_highways": 1}, {"num_layers": 1})


@pytest.fixture(scope="module")
def shapes(elmo):
    return {key: array.shape for key, array in file_arrays(elmo).items()}


@pytest.fixture(scope="module")
def model(elmo, tmp_path_factory):
    """A folder with a model's options and weights, as users have them."""
    folder = tmp_path_factory.mktemp("model")
    elmo.save_to_bilm(folder / "options.json", folder / "weights.hdf5")
    return folder


@pytest.fixture(scope="module")
def many_langs(shared):
    return shared / "reference/elmo_for_many_langs/char_and_word"


@pytest.fixture(scope="module")
def folders(elmo, model, many_langs, tmp_path_factory):
    """A folder with files of each format."""
    root = tmp_path_factory.mktemp("formats")
    bilm = shutil.copytree(model, root / "bilm")
    (bilm / "vocab.txt").write_bytes(WORDS)
    (bilm / "vocab.txt.gz").write_bytes(gzip.compress(WORDS))
    write_zip(bilm / "model.zip", model)
    elmo.save_to_preset(root / "preset")
    arrays = {f"lm/{k}": a for k, a in file_arrays(elmo).items()}
    write_checkpoint(root / "checkpoint", arrays)
    shutil.copytree(many_langs, root / "many_langs")
    return root


def write_zip(path, model, folder="", **others):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("options.json", "weights.hdf5"):
            archive.write(model / name, folder + name)
        for name, content in others.items():
            archive.writestr(name, content)
    return path


def read_weights(path, shapes):
    arrays = read_arrays(path, shapes)
    assert {k: a.shape for k, a in arrays.items()} == shapes
    assert all(np.isfinite(a).all() for a in arrays.values())


def read_pickle(path, _):
    arrays = read_state_dict(path.read_bytes(), path)
    assert sum(a.nbytes for a in arrays.values()) <= path.stat().st_size


def read_preset(path, _):
    ElmoLayer.from_preset(path.parent)


def read_checkpoint(path, shapes):
    open_checkpoint(ModelFolder(str(path.parent))).read(shapes)


READERS = {
    "bilm/options.json": lambda path, _: ElmoLayer.from_bilm(
        path, path.parent / "weights.hdf5"
    ),
    "bilm/weights.hdf5": read_weights,
    "bilm/model.zip": lambda path, _: ElmoLayer.from_bilm(path),
    "bilm/vocab.txt": lambda path, _: Vocabulary.from_file(path),
    "bilm/vocab.txt.gz": lambda path, _: Vocabulary.from_file(path),
    "preset/config.json": read_preset,
    "preset/model.weights.h5": read_preset,
    "checkpoint/model.ckpt-7.index": read_checkpoint,
    "checkpoint/model.ckpt-7.data-00000-of-00001": read_checkpoint,
    "many_langs/config.json": read_preset,
    "many_langs/cnn_config.json": read_preset,
    "many_langs/char.dic": read_preset,
    "many_langs/word.dic": read_preset,
    "many_langs/token_embedder.pkl": read_pickle,
    "many_langs/encoder.pkl": read_pickle,
}


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused(data, name, folders, shapes):
    path = folders / name
    whole = path.read_bytes()
    damage = damaged_json if path.suffix == ".json" else damaged
    path.write_bytes(data.draw(damage(whole)))
    try:
        reads_or_says_why(lambda: READERS[name](path, shapes), str(path.parent))
    finally:
        path.write_bytes(whole)


def test_the_files_are_read_when_they_are_whole(folders, shapes):
    """Ensures that the test above does not only test errors."""
    for name, read in READERS.items():
        read(folders / name, shapes)
    expected = file_arrays(ElmoLayer.from_bilm(folders / "bilm/model.zip"))
    found = file_arrays(ElmoLayer.from_preset(folders / "preset"))
    assert set(found) == set(expected)
    for key, array in expected.items():
        np.testing.assert_array_equal(found[key], array)


def _add_link(path):
    with h5py.File(path, "r+") as store:
        store["link"] = h5py.SoftLink("/other")


def test_weights_that_lie_elsewhere(folders, elmo, tmp_path, capsys):
    folder = shutil.copytree(folders / "bilm", tmp_path / "model")
    preset = shutil.copytree(folders / "preset", tmp_path / "preset")
    _add_link(folder / "weights.hdf5")
    _add_link(preset / "model.weights.h5")
    archive = write_zip(tmp_path / "zipped.zip", folder)
    for path, model in [
        (folder / "weights.hdf5", folder),
        (archive, archive),
        (preset / "model.weights.h5", preset),
    ]:
        with pytest.raises(ValueError, match="is a link to another") as info:
            ElmoLayer.from_preset(model)
        assert str(path) in str(info.value)
    inputs = keras.Input((None, 12), dtype="int32")
    path = tmp_path / "model.keras"
    keras.Model(inputs, elmo(inputs)).save(path)
    shutil.unpack_archive(path, tmp_path / "parts", "zip")
    _add_link(tmp_path / "parts/model.weights.h5")
    os.replace(shutil.make_archive(path, "zip", tmp_path / "parts"), path)
    assert main(["export", str(path), str(tmp_path / "served")]) == 1
    told = "'link' is a link to another place"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["options.json", "weights.hdf5", "vocab.txt", "metadata.json"]
)
def test_pipes_keep_nobody_waiting(name, model, tmp_path):
    folder = shutil.copytree(model, tmp_path / "model")
    if name == "metadata.json":
        (folder / "options.json").unlink()
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    for path in (folder, folder / name):
        with pytest.raises((ValueError, FileNotFoundError)):
            dict(find_model(path).facts(ElmoLayer))
        if name != "vocab.txt":
            with pytest.raises((ValueError, FileNotFoundError)):
                ElmoLayer.from_preset(path)


def test_zip_of_far_more_than_its_size(model, tmp_path, monkeypatch):
    monkeypatch.setattr(untrusted_files, "_ALWAYS", 1000)
    path = tmp_path / "harmful.zip"
    write_zip(path, model, corpus=bytes(16 << 20))
    for read in (ElmoLayer.from_bilm, ElmoLayer.from_preset):
        with pytest.raises(ValueError, match="declares too much") as info:
            read(path)
        assert f"'{path}'" in str(info.value)


def test_no_more_is_unpacked_than_is_read(model, tmp_path):
    others = ("a/corpus.txt", "a/training_state.hdf5", "vocab.txt")
    others = dict.fromkeys(others, bytes(1 << 20))
    path = write_zip(tmp_path / "model.zip", model, "a/", **others)
    files = open_bilm(path)
    files.read_arrays()
    folder = pathlib.Path(files.weight_files[0]).parent
    unpacked = {p.name: p.read_bytes() for p in folder.iterdir()}
    del files
    assert not folder.exists()
    names = ("options.json", "weights.hdf5")
    assert unpacked == {name: (model / name).read_bytes() for name in names}


def test_vocabularies_of_far_more_than_their_size(model, tmp_path, monkeypatch):
    monkeypatch.setattr(untrusted_files, "_ALWAYS", 1000)
    folder = shutil.copytree(model, tmp_path / "model")
    path = folder / "vocab.txt.gz"
    for content in (b"a\n" * (1 << 19), b"a" * (1 << 20)):
        path.write_bytes(gzip.compress(content))
        for read in (
            lambda: vocabulary_words(path),
            lambda: vocabulary_words(*open_bilm(folder).read_vocabulary()),
            lambda: Vocabulary.from_file(path),
        ):
            with pytest.raises(ValueError, match="unpack to more than") as info:
                read()
            assert f"'{path}'" in str(info.value)
