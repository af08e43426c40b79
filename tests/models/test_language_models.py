import numpy as np
import pytest
from formats.zips import write_zip
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
VOCABULARY = b"<S>\n</S>\n<UNK>\nthe\nof\n"


def read_weights(files):
    """Returns the arrays of the biLM by their keys in a weight file."""
    return stored_arrays(BILM_TABLE, files.read_arrays())


def files_in(folder):
    """Returns the files of a model, and one of another folder beside them."""
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    return {**files, "notes/weights.hdf5": b"of another folder"}


def test_a_folder_and_a_zip(tmp_path):
    elmo, folder = make_elmo(), tmp_path / "model"
    folder.mkdir()
    elmo.save_to_bilm(
        folder / "options.json", folder / "weights.hdf5", output_dtype="float16"
    )
    softmax = {"softmax.kernel": W, "softmax.bias": B}
    write_softmax(folder / "softmax.hdf5", softmax, "float16")
    (folder / "vocab.txt").write_bytes(VOCABULARY)
    path = write_zip(tmp_path / "model.zip", files_in(folder), "a/b/")
    arrays = {k: a.astype("float16") for k, a in file_arrays(elmo).items()}
    softmax = {k: a.astype("float16") for k, a in softmax.items()}
    for source, label in (folder, f"{folder}"), (path, f"{path}/a/b"):
        files = find_model(source).open_language_model()
        assert files.label == label
        assert files.content["lstm"]["dim"] == 7
        check_equal(read_weights(files), arrays)
        for size in (5, None):
            check_equal(files.read_softmax(size), softmax)
        assert files.read_vocabulary() == (f"{label}/vocab.txt", VOCABULARY)
        with pytest.raises(ValueError, match="of the options") as info:
            files.read_softmax(6)
        assert f"'{label}/softmax.hdf5'" in str(info.value)


def test_zip_of_a_training_checkpoint(shared, tmp_path):
    source = shared / "reference/bilm_tf_checkpoint"
    path = write_zip(tmp_path / "a.zip", files_in(source), "model/")
    files = find_model(path).open_language_model()
    check_equal(read_weights(files), all_arrays(source / "weights.hdf5"))
    with pytest.raises(ValueError, match="'softmax/b' of the check") as info:
        files.read_softmax(1502)
    assert f"'{path}/model/model.ckpt-372'" in str(info.value)


def test_softmax_must_have_one_row_a_word(tmp_path):
    make_elmo().save_to_bilm(
        tmp_path / "options.json", tmp_path / "weights.hdf5"
    )
    path = tmp_path / "softmax.hdf5"
    write_arrays(path, {"softmax/W": W, "softmax/b": B[:4]}.items())
    files = find_model(tmp_path).open_language_model()
    with pytest.raises(ValueError, match=r"one row and one .*\(5, 6\)") as info:
        files.read_softmax()
    assert f"'{tmp_path}'" in str(info.value)
    path.unlink()
    files = find_model(tmp_path).open_language_model()
    assert files.read_softmax(5) is None and files.read_vocabulary() is None
