import gc
import pathlib
import zipfile

import numpy as np
import pytest
from formats.checkpoints import write_checkpoint
from hdf5_arrays import all_arrays
from hdf5_arrays import check_equal
from small_models import file_arrays
from small_models import make_elmo

from keras_elmo.formats.array_tables import stored_arrays
from keras_elmo.formats.bilm_files import write_softmax
from keras_elmo.formats.bilm_variables import BILM_TABLE
from keras_elmo.formats.weight_files import write_arrays
from keras_elmo.models.find_model import find_model

W = np.arange(30, dtype="float32").reshape(5, 6) + 0.1
B = np.arange(5, dtype="float32") + 0.3
SOFTMAX = {"softmax.kernel": W, "softmax.bias": B}
VOCABULARY = "<S>\n</S>\n<UNK>\nthe\nof\n"


def read_weights(files):
    """Returns the arrays of the biLM by their keys in a weight file."""
    return stored_arrays(BILM_TABLE, files.read_arrays())


def write_model(folder, softmax=True, vocabulary=True, dtype="float32"):
    """Writes a model folder; returns what a reader must find in it."""
    folder.mkdir(parents=True, exist_ok=True)
    elmo = make_elmo()
    paths = folder / "options.json", folder / "weights.hdf5"
    elmo.save_to_bilm(*paths, output_dtype=dtype)
    if softmax:
        write_softmax(folder / "softmax.hdf5", SOFTMAX, dtype)
    if vocabulary:
        (folder / "vocab.txt").write_text(VOCABULARY)
    return file_arrays(elmo)


def check_model(model, weights, dtype="float32", label=None):
    files = find_model(model).open_language_model()
    assert files.label == str(label or model)
    assert files.content["lstm"]["dim"] == files.options.encoder["units"] == 7
    expected = {k: a.astype(dtype) for k, a in weights.items()}
    check_equal(read_weights(files), expected)
    expected = {k: a.astype(dtype) for k, a in SOFTMAX.items()}
    for size in (5, None):
        check_equal(files.read_softmax(size), expected)
    assert files.read_vocabulary()[1] == VOCABULARY.encode()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("kind", [str, pathlib.Path])
def test_folder(tmp_path, kind, dtype):
    weights = write_model(tmp_path / "model", dtype=dtype)
    check_model(kind(tmp_path / "model"), weights, dtype)


@pytest.mark.parametrize("root", ["", "model/", "a/b/"])
def test_zip(tmp_path, root):
    weights = write_model(tmp_path / "model")
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in (tmp_path / "model").iterdir():
            archive.write(file, root + file.name)
        archive.writestr(f"{root}notes/weights.hdf5", b"of another folder")
    check_model(path, weights, label=f"{path}/{root}".removesuffix("/"))
    files = find_model(path).open_language_model()
    with pytest.raises(ValueError, match="of the options") as info:
        files.read_softmax(6)
    folder = pathlib.Path(files.weight_files[0]).parent
    assert f"'{path}/{root}softmax.hdf5'" in str(info.value)
    assert folder.exists()
    del files, info  # What is unpacked goes with the last use of the model.
    gc.collect()
    assert not folder.exists()


def test_model_without_softmax_and_vocabulary(tmp_path):
    weights = write_model(tmp_path / "model", False, False)
    files = find_model(tmp_path / "model").open_language_model()
    expected = {k: a.astype("float32") for k, a in weights.items()}
    check_equal(read_weights(files), expected)
    assert files.read_softmax(5) is None
    assert files.read_vocabulary() is None


def test_training_checkpoint(shared):
    folder = shared / "reference/bilm_tf_checkpoint"
    files = find_model(folder).open_language_model()
    assert files.content["n_tokens_vocab"] == 1503
    expected = all_arrays(folder / "weights.hdf5")
    check_equal(read_weights(files), expected)
    softmax = files.read_softmax(1503)
    assert softmax["softmax.kernel"].shape == (1503, 32)
    assert softmax["softmax.bias"].shape == (1503,)
    assert files.read_vocabulary()[0] == str(folder / "vocab.txt")
    with pytest.raises(ValueError, match="'softmax/b' of the check") as info:
        files.read_softmax(1502)
    assert f"'{folder}/model.ckpt-372'" in str(info.value)


def test_zip_of_a_training_checkpoint(shared, tmp_path):
    folder = shared / "reference/bilm_tf_checkpoint"
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.iterdir():
            if not file.name.endswith(".hdf5"):
                archive.write(file, f"model/{file.name}")
    files = find_model(path).open_language_model()
    expected = all_arrays(folder / "weights.hdf5")
    check_equal(read_weights(files), expected)
    encoder = {**files.options.encoder, "num_layers": 1}
    with pytest.raises(ValueError, match="does not match") as info:
        files.read_arrays(files.options._replace(encoder=encoder))
    assert f"'{path}/model/model.ckpt-372'" in str(info.value)


def test_zip_whose_checkpoint_lies_elsewhere(shared, tmp_path):
    folder = shared / "reference/bilm_tf_checkpoint"
    path = tmp_path / "model.zip"
    state = f'model_checkpoint_path: "{folder}/model.ckpt-372"\n'
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(folder / "options.json", "options.json")
        archive.writestr("checkpoint", state)
    told = r"must contain 'model\.ckpt-372\.index'"
    with pytest.raises(FileNotFoundError, match=told):
        find_model(path).open_language_model()


def test_a_checkpoint_without_softmax(tmp_path):
    make_elmo().save_to_bilm(tmp_path / "options.json", tmp_path / "weights")
    write_checkpoint(tmp_path, {"lm/char_embed": W})
    assert find_model(tmp_path).open_language_model().read_softmax(5) is None


@pytest.mark.parametrize("part", ["weights", "softmax", "options"])
def test_damaged_files_are_named(tmp_path, part):
    write_model(tmp_path)
    (path,) = tmp_path.glob(f"{part}.*")
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(ValueError, match=r"cannot be read|is not JSON") as info:
        files = find_model(tmp_path).open_language_model()
        files.read_arrays()
        files.read_softmax(5)
    assert f"'{path}'" in str(info.value)


def test_softmax_must_have_one_row_a_word(tmp_path):
    write_model(tmp_path)
    path = tmp_path / "softmax.hdf5"
    write_arrays(path, {"softmax/W": W, "softmax/b": B[:4]}.items())
    files = find_model(tmp_path).open_language_model()
    with pytest.raises(ValueError, match="one row and one bias") as info:
        files.read_softmax()
    assert str(tmp_path) in str(info.value)
    assert "(5, 6)" in str(info.value)
