import gc
import pathlib
import shutil
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


def write_model(folder, dtype="float32"):
    """Writes a model folder; returns what a reader must find in it."""
    folder.mkdir(exist_ok=True)
    elmo = make_elmo()
    paths = folder / "options.json", folder / "weights.hdf5"
    elmo.save_to_bilm(*paths, output_dtype=dtype)
    write_softmax(folder / "softmax.hdf5", SOFTMAX, dtype)
    (folder / "vocab.txt").write_text(VOCABULARY)
    return {k: a.astype(dtype) for k, a in file_arrays(elmo).items()}


def write_zip(path, folder, root):
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.iterdir():
            archive.write(file, root + file.name)
        archive.writestr(f"{root}notes/weights.hdf5", b"of another folder")
    return path


def check_model(files, weights, dtype="float32"):
    assert files.content["lstm"]["dim"] == files.options.encoder["units"] == 7
    check_equal(read_weights(files), weights)
    expected = {k: a.astype(dtype) for k, a in SOFTMAX.items()}
    for size in (5, None):
        check_equal(files.read_softmax(size), expected)
    assert files.read_vocabulary()[1] == VOCABULARY.encode()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_folder(tmp_path, dtype):
    weights = write_model(tmp_path, dtype)
    files = find_model(tmp_path).open_language_model()
    assert files.label == str(tmp_path)
    check_model(files, weights, dtype)
    (tmp_path / "softmax.hdf5").unlink()
    (tmp_path / "vocab.txt").unlink()
    files = find_model(tmp_path).open_language_model()
    check_equal(read_weights(files), weights)
    assert files.read_softmax(5) is None and files.read_vocabulary() is None


@pytest.mark.parametrize("root", ["", "a/b/"])
def test_zip(tmp_path, root):
    weights = write_model(tmp_path / "model")
    path = write_zip(tmp_path / "model.zip", tmp_path / "model", root)
    files = find_model(path).open_language_model()
    assert files.label == f"{path}/{root}".removesuffix("/")
    check_model(files, weights)
    with pytest.raises(ValueError, match="of the options") as info:
        files.read_softmax(6)
    folder = pathlib.Path(files.weight_files[0]).parent
    assert f"'{path}/{root}softmax.hdf5'" in str(info.value)
    assert folder.exists()
    del files, info  # What is unpacked goes with the last use of the model.
    gc.collect()
    assert not folder.exists()


@pytest.mark.parametrize("is_zip", [False, True])
def test_training_checkpoint(shared, tmp_path, is_zip):
    path = folder = shared / "reference/bilm_tf_checkpoint"
    expected = all_arrays(folder / "weights.hdf5")
    if is_zip:
        names = shutil.ignore_patterns("*.hdf5")
        shutil.copytree(folder, tmp_path / "model", ignore=names)
        path = write_zip(tmp_path / "a.zip", tmp_path / "model", "model/")
    label = f"{path}/model" if is_zip else str(path)
    files = find_model(path).open_language_model()
    assert files.content["n_tokens_vocab"] == 1503
    check_equal(read_weights(files), expected)
    softmax = files.read_softmax(1503)
    assert softmax["softmax.kernel"].shape == (1503, 32)
    assert softmax["softmax.bias"].shape == (1503,)
    assert files.read_vocabulary()[0] == f"{label}/vocab.txt"
    with pytest.raises(ValueError, match="'softmax/b' of the check") as info:
        files.read_softmax(1502)
    assert f"'{label}/model.ckpt-372'" in str(info.value)
    encoder = {**files.options.encoder, "num_layers": 1}
    with pytest.raises(ValueError, match="does not match") as info:
        files.read_arrays(files.options._replace(encoder=encoder))
    assert f"'{label}/model.ckpt-372'" in str(info.value)


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
