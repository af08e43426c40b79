"""Every reader, with corrupt or malicious files.

Each reader either reads the file, or raises an error that names it and says
why. None crashes, hangs, exhausts the memory or runs code from the file.
"""

import gzip
import io
import os
import pathlib
import pickle
import shutil
import zipfile

import h5py
import keras
import numpy as np
import pytest
from formats.checkpoints import write_checkpoint
from formats.state_dicts import zip_file
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
def scratch(model, tmp_path_factory):
    """A copy of the model; each test may damage one of its files."""
    return shutil.copytree(model, tmp_path_factory.mktemp("scratch") / "model")


@given(data=st.data())
def test_weights(data, shapes, model, scratch):
    path = scratch / "damaged.hdf5"
    path.write_bytes(data.draw(damaged((model / "weights.hdf5").read_bytes())))
    arrays = reads_or_says_why(lambda: read_arrays(path, shapes), str(path))
    if arrays is not None:
        assert {k: a.shape for k, a in arrays.items()} == shapes
        assert all(np.isfinite(a).all() for a in arrays.values())


def _of_objects(store, key):
    store.create_dataset(key, data="a text", dtype=h5py.string_dtype())


def _of_records(store, key):
    store[key] = np.zeros(3, [("a", "f4"), ("b", "i4")])


def _a_group(store, key):
    store.create_group(key)


def _a_reference(store, key):
    store[key] = np.array([store.ref], h5py.ref_dtype)


@pytest.mark.parametrize(
    "harm", [_of_objects, _of_records, _a_group, _a_reference]
)
def test_weights_made_to_do_harm(harm, shapes, model, scratch):
    path = scratch / "harmful.hdf5"
    for key in ("char_embed", "RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell/B"):
        shutil.copy(model / "weights.hdf5", path)
        with h5py.File(path, "r+") as store:
            del store[key]
            harm(store, key)
        with pytest.raises(ValueError, match="harmful"):
            read_arrays(path, shapes)


def _change(path):
    """Puts a link in the place of an array."""
    with h5py.File(path, "r+") as store:
        (key,) = {"char_embed", "token_encoder.embeddings"} & set(store)
        store.move(key, "other")
        store[key] = h5py.SoftLink("/other")


def test_weights_that_lie_elsewhere(model, presets, tmp_path):
    folder = shutil.copytree(model, tmp_path / "model")
    preset = shutil.copytree(presets[0], tmp_path / "preset")
    _change(folder / "weights.hdf5")
    _change(preset / "model.weights.h5")
    archive = shutil.make_archive(tmp_path / "zipped", "zip", folder)
    for path, read in [
        (folder / "weights.hdf5", lambda: ElmoLayer.from_bilm(folder)),
        (archive, lambda: ElmoLayer.from_bilm(archive)),
        (preset / "model.weights.h5", lambda: ElmoLayer.from_preset(preset)),
    ]:
        with pytest.raises(ValueError, match="is a link to another") as info:
            read()
        assert str(path) in str(info.value)


def test_a_keras_file_whose_weights_lie_elsewhere(elmo, tmp_path, capsys):
    inputs = keras.Input((None, 12), dtype="int32")
    path = tmp_path / "model.keras"
    keras.Model(inputs, elmo(inputs)).save(path)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "parts")
    with h5py.File(tmp_path / "parts/model.weights.h5", "r+") as store:
        store["link"] = h5py.SoftLink("/other")
    shutil.make_archive(path, "zip", tmp_path / "parts")
    os.replace(f"{path}.zip", path)
    told = "'link' is a link to another place"
    assert main(["export", str(path), str(tmp_path / "served")]) == 1
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


@given(data=st.data())
def test_options(data, model, scratch):
    path = scratch / "damaged.json"
    content = (model / "options.json").read_bytes()
    path.write_bytes(data.draw(damaged_json(content)))
    weights = scratch / "weights.hdf5"
    reads_or_says_why(
        lambda: ElmoLayer.from_bilm(path, weights), str(path), str(weights)
    )


@given(data=st.data())
def test_zip(data, model, scratch):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("options.json", "weights.hdf5"):
            archive.write(model / name, name)
    path = scratch / "damaged.zip"
    path.write_bytes(data.draw(damaged(content.getvalue())))
    reads_or_says_why(lambda: ElmoLayer.from_bilm(path), str(path))


def test_zip_of_far_more_than_its_size(model, scratch, monkeypatch):
    monkeypatch.setattr(untrusted_files, "_ALWAYS", 1000)
    path = scratch / "harmful.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("options.json", "weights.hdf5"):
            archive.write(model / name, name)
        archive.writestr("vocab.txt", bytes(16 << 20))
    for read in (
        lambda: ElmoLayer.from_bilm(path),
        lambda: ElmoLayer.from_preset(path),
    ):
        with pytest.raises(ValueError, match="declares too much") as info:
            read()
        assert f"'{path}'" in str(info.value)


def test_no_more_is_unpacked_than_is_read(model, tmp_path):
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("options.json", "weights.hdf5"):
            archive.write(model / name, f"a/{name}")
        for name in ("a/corpus.txt", "a/training_state.hdf5", "vocab.txt"):
            archive.writestr(name, bytes(1 << 20))
    files = open_bilm(path)
    files.read_arrays()
    folder = pathlib.Path(files.weight_files[0]).parent
    unpacked = {p.name: p.read_bytes() for p in folder.iterdir()}
    del files
    assert not folder.exists()
    names = ("options.json", "weights.hdf5")
    assert unpacked == {name: (model / name).read_bytes() for name in names}


def _vocabulary_of_folder(path):
    files = open_bilm(path)
    return vocabulary_words(*files.read_vocabulary())


def test_vocabularies_of_far_more_than_their_size(scratch, monkeypatch):
    monkeypatch.setattr(untrusted_files, "_ALWAYS", 1000)
    path = scratch / "vocab.txt.gz"
    for content in (b"a\n" * (1 << 19), b"a" * (1 << 20)):
        path.write_bytes(gzip.compress(content))
        for read in (
            lambda: vocabulary_words(path),
            lambda: _vocabulary_of_folder(scratch),
        ):
            with pytest.raises(ValueError, match="unpack to more than") as info:
                read()
            assert f"'{path}'" in str(info.value)
    with pytest.raises(ValueError, match="unpack to more than"):
        Vocabulary.from_file(path)
    path.unlink()


@pytest.mark.parametrize("ending", [".index", ".data-00000-of-00001"])
@given(data=st.data())
def test_checkpoint(data, ending, elmo, shapes, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp() / "checkpoint"
    whole = folder.with_name("whole_checkpoint")
    if not whole.exists():
        arrays = {f"lm/{k}": a for k, a in file_arrays(elmo).items()}
        write_checkpoint(whole, arrays)
        shutil.copytree(whole, folder)
    name = f"model.ckpt-7{ending}"
    content = (whole / name).read_bytes()
    (folder / name).write_bytes(data.draw(damaged(content)))
    reads_or_says_why(
        lambda: open_checkpoint(ModelFolder(str(folder))).read(shapes),
        str(folder),
    )
    shutil.copy(whole / name, folder / name)


@pytest.fixture(scope="module")
def presets(elmo, tmp_path_factory):
    """The folder of a preset, and a copy to damage."""
    folder = tmp_path_factory.mktemp("presets")
    elmo.save_to_preset(folder / "whole")
    shutil.copytree(folder / "whole", folder / "damaged")
    return folder / "whole", folder / "damaged"


@given(data=st.data())
def test_config_of_a_preset(data, presets):
    whole, folder = presets
    content = (whole / "config.json").read_bytes()
    (folder / "config.json").write_bytes(data.draw(damaged_json(content)))
    reads_or_says_why(lambda: ElmoLayer.from_preset(folder), str(folder))
    shutil.copy(whole / "config.json", folder)


@given(data=st.data())
def test_weights_of_a_preset(data, presets):
    whole, folder = presets
    content = (whole / "model.weights.h5").read_bytes()
    (folder / "model.weights.h5").write_bytes(data.draw(damaged(content)))
    reads_or_says_why(lambda: ElmoLayer.from_preset(folder), str(folder))


_WORDS = b"<S>\n</S>\n<UNK>\nthe\nw\xc3\xb6rd\ncat\n"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@given(data=st.data())
def test_vocabulary(data, pack, scratch):
    path = scratch / "damaged.txt"
    path.write_bytes(data.draw(damaged(pack(_WORDS))))
    reads_or_says_why(lambda: Vocabulary.from_file(path), str(path))


@pytest.fixture(scope="module")
def many_langs(shared, tmp_path_factory):
    """A folder of ELMoForManyLangs, and a copy to damage."""
    whole = shared / "reference/elmo_for_many_langs/char_and_word"
    folder = tmp_path_factory.mktemp("many_langs")
    return whole, shutil.copytree(whole, folder / "model")


@pytest.mark.parametrize(
    "name", ["config.json", "cnn_config.json", "char.dic", "word.dic"]
)
@given(data=st.data())
def test_many_langs(data, name, many_langs):
    whole, folder = many_langs
    content = (whole / name).read_bytes()
    damage = damaged_json if name.endswith(".json") else damaged
    (folder / name).write_bytes(data.draw(damage(content)))
    reads_or_says_why(lambda: ElmoLayer.from_preset(folder), str(folder))
    shutil.copy(whole / name, folder)


@pytest.mark.parametrize("name", ["token_embedder.pkl", "encoder.pkl"])
@given(data=st.data())
def test_state_dicts(data, name, many_langs):
    whole, folder = many_langs
    path = folder / name
    path.write_bytes(data.draw(damaged((whole / name).read_bytes())))
    arrays = reads_or_says_why(
        lambda: read_state_dict(path.read_bytes(), path), str(path)
    )
    if arrays is not None:
        assert sum(a.nbytes for a in arrays.values()) <= path.stat().st_size
    shutil.copy(whole / name, folder)


_OPCODES = [
    value
    for name, value in vars(pickle).items()
    if name.isupper() and isinstance(value, bytes) and len(value) == 1
]
_PROGRAMS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(_OPCODES), st.sampled_from([1, 1, 1, 9999])),
        st.tuples(st.binary(min_size=1, max_size=6), st.just(1)),
        st.tuples(st.just(b"ccollections\nOrderedDict\n)R"), st.just(1)),
    ),
    max_size=40,
)


@given(program=_PROGRAMS)
def test_pickles_of_any_opcodes(program):
    code = b"".join(part * times for part, times in program)
    content = zip_file({}, [], data=b"\x80\x02" + code + b".")
    arrays = reads_or_says_why(lambda: read_state_dict(content, "a"), "'a'")
    assert not arrays


def test_damaged_numbers_of_many_langs(many_langs):
    """Arrays of damaged state dicts are checked against the layer's sizes."""
    whole, folder = many_langs
    shutil.copy(whole / "token_embedder.pkl", folder / "encoder.pkl")
    with pytest.raises(ValueError, match=r"encoder\.pkl"):
        ElmoLayer.from_preset(folder)
    shutil.copy(whole / "encoder.pkl", folder)


class Harm:
    """An object that runs a command when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("in_zip", [False, True])
def test_pickles_are_not_run(protocol, in_zip, many_langs, tmp_path):
    whole, _ = many_langs
    folder = shutil.copytree(whole, tmp_path / "model")
    content = pickle.dumps({"a": Harm(tmp_path / "harm")}, protocol)
    path = folder / "encoder.pkl"
    if in_zip:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", content)
    else:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"encoder\.pkl"):
        ElmoLayer.from_preset(folder)
    assert not (tmp_path / "harm").exists()
    pickle.loads(content)
    assert (tmp_path / "harm").exists()


def test_the_files_are_read_when_they_are_whole(model, presets, scratch):
    """Ensures that the tests above do not only test errors."""
    expected = file_arrays(ElmoLayer.from_bilm(model))
    found = file_arrays(ElmoLayer.from_preset(presets[0]))
    assert set(found) == set(expected)
    for key, array in expected.items():
        np.testing.assert_array_equal(found[key], array)
