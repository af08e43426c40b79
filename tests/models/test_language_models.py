import json
import pathlib
import re
import shutil
import zipfile

import numpy as np
import pytest
from formats.checkpoints import write_checkpoint
from hdf5_arrays import all_arrays
from small_models import file_arrays
from small_models import make_elmo
from small_models import randomize

from keras_elmo import PRESETS
from keras_elmo import BiLMEncoder
from keras_elmo import ElmoLayer
from keras_elmo import TokenEmbedding
from keras_elmo import save_bilm_weights
from keras_elmo.formats.bilm_arrays import write_arrays
from keras_elmo.inspection import inspect_path
from keras_elmo.models.bilm_variables import assign_bilm_weights
from keras_elmo.models.find_model import find_model
from keras_elmo.models.language_models import open_language_model
from keras_elmo.models.language_models import write_softmax
from keras_elmo.models.presets import Preset

W = np.arange(10, dtype="float32").reshape(5, 2) + 0.1
B = np.arange(5, dtype="float32") + 0.3
VOCABULARY = "<S>\n</S>\n<UNK>\nthe\nof\n"


def shapes_of(arrays):
    return {key: array.shape for key, array in arrays.items()}


def check_equal(found, expected):
    assert set(found) == set(expected)
    for key, array in expected.items():
        assert found[key].dtype == "float32"
        np.testing.assert_array_equal(found[key], array.astype("float32"))


def write_model(folder, softmax=True, vocabulary=True, dtype="float32"):
    """A model's folder; returns what a reader must find in it."""
    folder.mkdir(parents=True, exist_ok=True)
    elmo = make_elmo()
    save_bilm_weights(
        elmo, folder / "options.json", folder / "weights.hdf5", dtype
    )
    if softmax:
        write_softmax(folder / "softmax.hdf5", W, B, dtype)
    if vocabulary:
        (folder / "vocab.txt").write_text(VOCABULARY)
    return file_arrays(elmo)


def check_model(model, weights, dtype="float32"):
    with find_model(model).open_language_model() as files:
        assert files.label == str(model)
        assert files.options["lstm"]["dim"] == 7
        expected = {k: a.astype(dtype) for k, a in weights.items()}
        check_equal(files.read_weights(shapes_of(weights)), expected)
        for size in (5, None):
            found = files.read_softmax(size, 2)
            check_equal(
                dict(zip("Wb", found)),
                {"W": W.astype(dtype), "b": B.astype(dtype)},
            )
        path = pathlib.Path(files.vocabulary)
        assert path.read_text() == VOCABULARY


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("kind", [str, pathlib.Path])
def test_folder(tmp_path, kind, dtype):
    weights = write_model(tmp_path / "model", dtype=dtype)
    check_model(kind(tmp_path / "model"), weights, dtype)


def test_float16_halves_the_files(tmp_path):
    write_model(tmp_path / "a")
    write_model(tmp_path / "b", dtype="float16")
    for name in ("weights.hdf5", "softmax.hdf5"):
        whole, half = (all_arrays(tmp_path / d / name) for d in "ab")
        assert {array.dtype.name for array in whole.values()} == {"float32"}
        assert {array.dtype.name for array in half.values()} == {"float16"}


@pytest.mark.parametrize("root", ["", "model/", "a/b/"])
def test_zip(tmp_path, root):
    weights = write_model(tmp_path / "model")
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in (tmp_path / "model").iterdir():
            archive.write(file, root + file.name)
        archive.writestr(f"{root}notes/weights.hdf5", b"of another folder")
    check_model(path, weights)
    with open_language_model(path) as files:
        with pytest.raises(ValueError, match="by the options") as info:
            files.read_softmax(6, 2)
        folder = pathlib.Path(files.vocabulary).parent
    assert f"'{path}/{root}softmax.hdf5'" in str(info.value)
    assert not folder.exists()


def test_model_without_softmax_and_vocabulary(tmp_path):
    weights = write_model(tmp_path / "model", False, False)
    with open_language_model(tmp_path / "model") as files:
        check_equal(files.read_weights(shapes_of(weights)), weights)
        assert files.read_softmax(5, 2) is None
        assert files.vocabulary is None


@pytest.mark.parametrize("inside", [True, False])
def test_preset(tmp_path, monkeypatch, inside):
    weights = write_model(tmp_path / "model")
    if inside:
        preset = Preset(None, None, 1, "", "", str(tmp_path / "model"))
    else:
        monkeypatch.setenv("KERAS_HOME", str(tmp_path))
        shutil.move(tmp_path / "model", tmp_path / "keras_elmo/small")
        preset = PRESETS["small"]
    monkeypatch.setitem(PRESETS, "small", preset)
    check_model("small", weights)


def test_training_checkpoint(shared):
    folder = shared / "reference/bilm_tf_checkpoint"
    with open_language_model(folder) as files:
        assert files.options["n_tokens_vocab"] == 1503
        expected = all_arrays(folder / "weights.hdf5")
        check_equal(files.read_weights(shapes_of(expected)), expected)
        w, b = files.read_softmax(1503, 32)
        assert (w.shape, b.shape) == ((1503, 32), (1503,))
        assert files.vocabulary == str(folder / "vocab.txt")
        with pytest.raises(
            ValueError, match="'softmax/b' of the check"
        ) as info:
            files.read_softmax(1502, 32)
    assert f"'{folder}/model.ckpt-372'" in str(info.value)


def test_zip_of_a_training_checkpoint(shared, tmp_path):
    folder = shared / "reference/bilm_tf_checkpoint"
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.iterdir():
            if not file.name.endswith(".hdf5"):
                archive.write(file, f"model/{file.name}")
    with open_language_model(path) as files:
        expected = all_arrays(folder / "weights.hdf5")
        check_equal(files.read_weights(shapes_of(expected)), expected)
        with pytest.raises(ValueError, match="does not fit") as info:
            files.read_weights({})
    assert f"'{path}/model/model.ckpt-372'" in str(info.value)


def test_zip_whose_checkpoint_lies_elsewhere(shared, tmp_path):
    folder = shared / "reference/bilm_tf_checkpoint"
    path = tmp_path / "model.zip"
    state = f'model_checkpoint_path: "{folder}/model.ckpt-372"\n'
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(folder / "options.json", "options.json")
        archive.writestr("checkpoint", state)
    told = r"no 'model\.ckpt-372\.index'"
    with pytest.raises(FileNotFoundError, match=told):
        open_language_model(path).__enter__()
    assert re.search(told, "".join(inspect_path(path).problems))


def test_words_that_share_the_softmax(tmp_path):
    model = ElmoLayer(TokenEmbedding(5, 6), BiLMEncoder(7, 6))
    model.build((None, None))
    randomize(model)
    expected = file_arrays(model)
    assert expected["embedding"].shape == (5, 6)
    options = tmp_path / "options.json"
    save_bilm_weights(model, options, tmp_path / "weights.hdf5")
    write_softmax(tmp_path / "softmax.hdf5", None, B)
    changed = json.loads(options.read_text())
    assert changed["n_tokens_vocab"] == 5
    changed["share_embedding_softmax"] = True
    options.write_text(json.dumps(changed))
    randomize(model, 0.0)
    with open_language_model(tmp_path) as files:
        assign_bilm_weights(model, files.read_weights)
        w, b = files.read_softmax(5, 6)
    check_equal(file_arrays_in_float32(model), expected)
    assert w is None
    np.testing.assert_array_equal(b, B)


def file_arrays_in_float32(model):
    arrays = file_arrays(model)
    return {key: array.astype("float32") for key, array in arrays.items()}


def test_softmax_of_a_checkpoint_may_be_shared_or_missing(tmp_path):
    options = {
        "lstm": {"dim": 3, "projection_dim": 2},
        "n_tokens_vocab": 5,
        "share_embedding_softmax": True,
    }
    (tmp_path / "options.json").write_text(json.dumps(options))
    write_checkpoint(tmp_path, {"lm/softmax/b": B})
    with open_language_model(tmp_path) as files:
        w, b = files.read_softmax(None, 2)
        assert w is None
        np.testing.assert_array_equal(b, B)
    write_checkpoint(tmp_path, {"lm/embedding": W})
    with open_language_model(tmp_path) as files:
        assert files.read_softmax(5, 2) is None


@pytest.mark.parametrize("part", ["weights", "softmax", "options"])
def test_damaged_files_are_named(tmp_path, part):
    weights = write_model(tmp_path)
    (path,) = tmp_path.glob(f"{part}.*")
    path.write_bytes(path.read_bytes()[:50])
    with (
        pytest.raises(ValueError, match=r"cannot be read|is not JSON") as info,
        open_language_model(tmp_path) as files,
    ):
        files.read_weights(shapes_of(weights))
        files.read_softmax(5, 2)
    assert f"'{path}'" in str(info.value)


def test_softmax_must_have_one_row_a_word(tmp_path):
    write_model(tmp_path)
    path = tmp_path / "softmax.hdf5"
    with pytest.raises(ValueError, match="one row and one number") as info:
        write_softmax(path, W, B[:4])
    assert "`W` and `b`" in str(info.value)
    write_arrays(path, {"softmax/W": W, "softmax/b": B[:4]})
    with (
        open_language_model(tmp_path) as files,
        pytest.raises(ValueError, match="one row and one number") as info,
    ):
        files.read_softmax(None, 2)
    assert str(tmp_path) in str(info.value)
    assert "(5, 2)" in str(info.value)


def open_and_close(model):
    with open_language_model(model):
        pass


def test_what_is_no_model(tmp_path):
    with pytest.raises(ValueError, match=r"an 'options\.json'"):
        open_and_close(tmp_path)
    (tmp_path / "options.json").write_text("{}")
    with pytest.raises(ValueError, match=r"a '\.hdf5' file"):
        open_and_close(tmp_path)
    (tmp_path / "model.ckpt-1.index").touch()
    (tmp_path / "model.ckpt-2.index").touch()
    with pytest.raises(
        FileNotFoundError, match="must hold a file 'checkpoint'"
    ):
        open_and_close(tmp_path)
