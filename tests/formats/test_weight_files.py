import os

import numpy as np
import pytest
from hdf5_arrays import all_arrays
from hdf5_arrays import check_equal
from hdf5_arrays import shapes_of

from keras_elmo.formats.weight_files import read_arrays
from keras_elmo.formats.weight_files import write_arrays

CELL = "RNN/MultiRNNCell/Cell0/LSTMCell"
ARRAYS = {
    "char_embed": np.arange(6, dtype="float32").reshape(3, 2),
    "CNN/b_cnn_0": np.array([1.5, -2.5], dtype="float32"),
    f"RNN_0/{CELL}/B": np.array([0.0, 1.0], dtype="float32"),
    f"RNN_1/{CELL}/B": np.array([2.0, 3.0], dtype="float32"),
}


@pytest.fixture
def path(tmp_path):
    write_arrays(tmp_path / "weights.hdf5", ARRAYS.items())
    return tmp_path / "weights.hdf5"


def check_unreadable(path, shapes=None):
    """Asserts that reading fails and that the message names the file."""
    with pytest.raises(ValueError, match="cannot be read") as info:
        read_arrays(path, shapes or shapes_of(ARRAYS))
    assert f"'{path}'" in str(info.value)


def test_what_is_written_is_read(path):
    check_equal(read_arrays(path, shapes_of(ARRAYS)), ARRAYS)
    check_equal(read_arrays(str(path), shapes_of(ARRAYS)), ARRAYS)
    check_equal(all_arrays(path), ARRAYS)


@pytest.mark.parametrize("dtype", ["float16", "float64", ">f4", ">f8"])
def test_any_floating_point_type_is_read(path, dtype):
    arrays = {key: array.astype(dtype) for key, array in ARRAYS.items()}
    write_arrays(path, arrays.items())
    check_equal(read_arrays(path, shapes_of(ARRAYS)), arrays)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_arrays_are_written_in_the_dtype_asked_for(path, dtype):
    large = {key: a.astype("float64") + 0.1 for key, a in ARRAYS.items()}
    write_arrays(path, large.items(), dtype)
    expected = {key: array.astype(dtype) for key, array in large.items()}
    check_equal(all_arrays(path), expected)


def test_numbers_too_large_for_float16_are_named(path):
    before = path.read_bytes()
    large = {**ARRAYS, "char_embed": np.array([1.0, -7e4], "float32")}
    with pytest.raises(ValueError, match="'char_embed' has numbers") as info:
        write_arrays(path, large.items(), "float16")
    assert "Received: numbers up to 70000.0" in str(info.value)
    with pytest.raises(ValueError, match="`output_dtype` must be") as info:
        write_arrays(path, ARRAYS.items(), "int8")
    assert "Received: 'int8'" in str(info.value)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_size_may_be_any(path):
    arrays = read_arrays(path, {**shapes_of(ARRAYS), "char_embed": (None, 2)})
    check_equal(arrays, ARRAYS)
    for shape in ((None, 3), (None,), (None, None, None)):
        with pytest.raises(ValueError, match=r"Received: \(3, 2\)"):
            read_arrays(path, {**shapes_of(ARRAYS), "char_embed": shape})


def test_missing_file(tmp_path):
    path = tmp_path / "nowhere.hdf5"
    with pytest.raises(FileNotFoundError, match="no weight file") as info:
        read_arrays(path, shapes_of(ARRAYS))
    assert f"'{path}'" in str(info.value)
    with pytest.raises(ValueError, match="is not a regular file") as info:
        read_arrays(tmp_path, shapes_of(ARRAYS))
    assert f"'{tmp_path}'" in str(info.value)


@pytest.mark.parametrize("content", [b"", b"\0" * 5000, b"<html>" * 1000])
def test_not_hdf5(tmp_path, content):
    path = tmp_path / "weights.hdf5"
    path.write_bytes(content)
    check_unreadable(path)


def test_missing_and_extra_arrays(path):
    shapes = shapes_of(ARRAYS)
    shapes["CNN_proj/W_proj"] = shapes["CNN_proj/b_proj"] = (2,)
    del shapes["char_embed"]
    with pytest.raises(ValueError, match="does not match its options") as info:
        read_arrays(path, shapes)
    message = str(info.value)
    assert f"'{path}'" in message
    assert (
        "that are missing: ['CNN_proj/W_proj', 'CNN_proj/b_proj']." in message
    )
    assert "that are not in the model: ['char_embed']." in message


@pytest.mark.parametrize("shape", [(2, 3), (6,), (3, 2, 1), (3, 3), ()])
def test_wrong_shape(path, shape):
    with pytest.raises(ValueError, match="'char_embed' of the weight") as info:
        read_arrays(path, {**shapes_of(ARRAYS), "char_embed": shape})
    message = str(info.value)
    assert f"'{path}'" in message
    assert str(shape) in message
    assert message.endswith("Received: (3, 2)")


@pytest.mark.parametrize("dtype", ["int32", "bool", "complex64", "S1"])
def test_numbers_must_be_floating_point(path, dtype):
    array = ARRAYS["char_embed"].astype(dtype)
    write_arrays(path, {**ARRAYS, "char_embed": array}.items())
    with pytest.raises(ValueError, match="must hold floating-point") as info:
        read_arrays(path, shapes_of(ARRAYS))
    message = str(info.value)
    assert "'char_embed'" in message
    assert f"'{path}'" in message
    assert f"Received: dtype={array.dtype}" in message


def test_dump_of_a_one_layer_model(path):
    arrays = {
        key.replace("MultiRNNCell/Cell0/", ""): array
        for key, array in ARRAYS.items()
    }
    assert "RNN_1/RNN/LSTMCell/B" in arrays
    write_arrays(path, arrays.items())
    check_equal(read_arrays(path, shapes_of(ARRAYS)), ARRAYS)


def test_an_array_under_both_names_is_refused(path):
    twice = {"RNN_0/RNN/LSTMCell/B": np.zeros(2, "float32")}
    twice[f"RNN_0/{CELL}/B"] = np.ones(2, "float32")
    write_arrays(path, twice.items())
    with pytest.raises(ValueError, match="not in the model") as info:
        read_arrays(path, {f"RNN_0/{CELL}/B": (2,)})
    assert f"'{path}'" in str(info.value)


def test_dump_of_a_one_layer_model_has_no_second_layer(path):
    write_arrays(path, {"RNN_0/RNN/LSTMCell/B": np.zeros(2, "float32")}.items())
    second = "RNN_0/RNN/MultiRNNCell/Cell1/LSTMCell/B"
    with pytest.raises(ValueError, match="that are missing") as info:
        read_arrays(path, {f"RNN_0/{CELL}/B": (2,), second: (2,)})
    assert f"that are missing: ['{second}']" in str(info.value)


@pytest.mark.parametrize("bad", [object(), np.array([object()])])
def test_failing_write_changes_nothing(path, bad):
    before = path.read_bytes()
    with pytest.raises(TypeError):
        write_arrays(
            path, {"char_embed": np.zeros(3, "float32"), "bad": bad}.items()
        )
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_writing_replaces_the_file(path):
    arrays = {"char_embed": np.ones(3, "float32")}
    write_arrays(path, arrays.items())
    check_equal(all_arrays(path), arrays)
    assert os.listdir(path.parent) == [path.name]


def test_writing_to_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_arrays("weights.hdf5", ARRAYS.items())
    assert os.listdir() == ["weights.hdf5"]
