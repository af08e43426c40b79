"""Every reader, with corrupt or malicious files.

Each reader either reads the file, or raises an error that names it and says
why. None crashes, hangs, exhausts the memory or runs code from the file.
"""

import gzip
import os
import shutil
import zipfile

import h5py
import numpy as np
import pytest
from conftest import ON_TENSORFLOW
from formats.checkpoints import write_checkpoint
from formats.zips import write_zip
from fuzzing import damaged
from fuzzing import damaged_json
from fuzzing import reads_or_says_why
from hdf5_arrays import shapes_of
from hypothesis import given
from hypothesis import strategies as st
from small_models import file_arrays
from small_models import make_elmo

from keras_elmo import ElmoLayer
from keras_elmo.files import untrusted_files
from keras_elmo.files.model_folder import ModelFolder
from keras_elmo.formats.bilm_files import open_bilm
from keras_elmo.formats.tensorflow_checkpoints import open_checkpoint
from keras_elmo.formats.torch_state_dicts import read_state_dict
from keras_elmo.formats.weight_files import read_arrays
from keras_elmo.formats.word_vector_files import read_word_vectors
from keras_elmo.models.find_model import find_model
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.text.vocabulary import vocabulary_words

pytestmark = ON_TENSORFLOW  # Files are read alike on every backend.
WORDS = b"<S>\n</S>\n<UNK>\nthe\nw\xc3\xb6rd\ncat\n"


@pytest.fixture(scope="module")
def elmo():
    return make_elmo({"num_highways": 1}, {"num_layers": 1})


@pytest.fixture(scope="module")
def shapes(elmo):
    return shapes_of(file_arrays(elmo))


@pytest.fixture(scope="module")
def model(elmo, tmp_path_factory):
    """A folder with a model's options and weights, as users have them."""
    folder = tmp_path_factory.mktemp("model")
    elmo.save_to_bilm(folder / "options.json", folder / "weights.hdf5")
    return folder


@pytest.fixture(scope="module")
def folders(elmo, model, shared, tmp_path_factory):
    """A folder with files of each format."""
    root = tmp_path_factory.mktemp("formats")
    bilm = shutil.copytree(model, root / "bilm")
    (bilm / "vocab.txt").write_bytes(WORDS)
    (bilm / "vocab.txt.gz").write_bytes(gzip.compress(WORDS))
    write_zip(bilm / "model.zip", model, compression=zipfile.ZIP_DEFLATED)
    elmo.save_to_preset(root / "preset")
    arrays = {f"lm/{k}": a for k, a in file_arrays(elmo).items()}
    write_checkpoint(root / "checkpoint", arrays)
    many_langs = shared / "reference/elmo_for_many_langs/char_and_word"
    shutil.copytree(many_langs, root / "many_langs")
    return root


def read_weights(path, shapes):
    arrays = read_arrays(path, shapes)
    assert shapes_of(arrays) == shapes
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


def test_weights_that_lie_elsewhere(folders, tmp_path):
    folder = shutil.copytree(folders / "bilm", tmp_path / "model")
    preset = shutil.copytree(folders / "preset", tmp_path / "preset")
    paths = folder / "weights.hdf5", preset / "model.weights.h5"
    for path in paths:
        with h5py.File(path, "r+") as store:
            store["link"] = h5py.SoftLink("/other")
    zipped = write_zip(tmp_path / "zipped.zip", folder)
    weights = {paths[1].name: paths[1].read_bytes()}
    whole = write_zip(tmp_path / "model.keras", weights)
    for model, path in (
        (folder, paths[0]),
        (preset, paths[1]),
        (zipped, zipped / "weights.hdf5"),
        (whole, whole / paths[1].name),
    ):
        told = f"'{path}' was not read: its 'link' is a link to another place"
        with pytest.raises(ValueError, match=told):
            find_model(model).load_for_export(ElmoLayer)


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


def test_zip_of_far_more_than_its_size(model, tmp_path, monkeypatch):
    monkeypatch.setattr(untrusted_files, "_ALWAYS", 1000)
    files = {"corpus": bytes(16 << 20)}
    path = write_zip(
        tmp_path / "a.zip", files, compression=zipfile.ZIP_DEFLATED
    )
    with pytest.raises(ValueError, match=f"'{path}' .* declares too much data"):
        ElmoLayer.from_bilm(path)


@pytest.mark.parametrize("content", [b"a 1 2\n" * (1 << 18), b"a" * (1 << 20)])
def test_texts_of_far_more_than_their_size(
    model, tmp_path, monkeypatch, content
):
    monkeypatch.setattr(untrusted_files, "_ALWAYS", 1000)
    folder = shutil.copytree(model, tmp_path / "model")
    path = folder / "vocab.txt.gz"
    path.write_bytes(gzip.compress(content))
    for read, *arguments in (
        (vocabulary_words, path),
        (vocabulary_words, *open_bilm(folder).read_vocabulary()),
        (read_word_vectors, path, 1_000_000),
    ):
        with pytest.raises(ValueError, match=f"'{path}'.* unpack to more than"):
            read(*arguments)
