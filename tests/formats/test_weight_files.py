import os
import re

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


@pytest.mark.parametrize(
    ("array", "dtype", "error", "message"),
    [
        (np.array([1.0, -7e4]), "float16", ValueError, "up to 70000.0"),
        (np.array([1.0]), "int8", ValueError, "`output_dtype` .*: 'int8'"),
        (np.array([object()]), None, TypeError, ""),
    ],
)
def test_a_failing_write_changes_nothing(path, array, dtype, error, message):
    before = path.read_bytes()
    arrays = {**ARRAYS, "bad": array}
    with pytest.raises(error) as info:
        write_arrays(path, arrays.items(), dtype)
    assert re.search(message, str(info.value))
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_size_may_be_any(path):
    arrays = read_arrays(path, {**shapes_of(ARRAYS), "char_embed": (None, 2)})
    check_equal(arrays, ARRAYS)


@pytest.mark.parametrize(
    "shape",
    [(2, 3), (6,), (3, 2, 1), (3, 3), (), (None, 3), (None,), (None,) * 3],
)
def test_wrong_shape(path, shape):
    with pytest.raises(ValueError, match="'char_embed' of the weight") as info:
        read_arrays(path, {**shapes_of(ARRAYS), "char_embed": shape})
    message = str(info.value)
    assert f"'{path}'" in message
    assert f"must have the shape {shape}" in message
    assert message.endswith("Received: (3, 2)")


@pytest.mark.parametrize("dtype", ["int32", "bool", "complex64", "S1"])
def test_numbers_must_be_floating_point(path, dtype):
    array = ARRAYS["char_embed"].astype(dtype)
    write_arrays(path, {**ARRAYS, "char_embed": array}.items())
    with pytest.raises(ValueError, match="must hold floating-point") as info:
        read_arrays(path, shapes_of(ARRAYS))
    message = str(info.value)
    assert f"'char_embed' of the weight file '{path}'" in message
    assert f"Received: dtype={array.dtype}" in message


def test_missing_file(tmp_path):
    path = tmp_path / "nowhere.hdf5"
    with pytest.raises(FileNotFoundError, match=f"no weight file '{path}'"):
        read_arrays(path, shapes_of(ARRAYS))
    with pytest.raises(ValueError, match=f"{tmp_path}' .*not a regular file"):
        read_arrays(tmp_path, shapes_of(ARRAYS))


@pytest.mark.parametrize("content", [b"", b"\0" * 5000, b"<html>" * 1000])
def test_not_hdf5(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"'{path}' cannot be read"):
        read_arrays(path, shapes_of(ARRAYS))


def test_missing_and_extra_arrays(path):
    shapes = shapes_of(ARRAYS)
    shapes["CNN_proj/W_proj"] = shapes["CNN_proj/b_proj"] = (2,)
    del shapes["char_embed"]
    with pytest.raises(ValueError, match="does not match its options") as info:
        read_arrays(path, shapes)
    message = str(info.value)
    assert f"'{path}'" in message
    missing = ["CNN_proj/W_proj", "CNN_proj/b_proj"]
    assert f"that are missing: {missing}." in message
    assert "that are not in the model: ['char_embed']." in message


def test_dump_of_a_one_layer_model(path):
    arrays = {
        key.replace("MultiRNNCell/Cell0/", ""): array
        for key, array in ARRAYS.items()
    }
    assert "RNN_1/RNN/LSTMCell/B" in arrays
    write_arrays(path, arrays.items())
    check_equal(read_arrays(path, shapes_of(ARRAYS)), ARRAYS)
    # It has no second layer, and no array under both names.
    second = {"RNN_0/RNN/MultiRNNCell/Cell1/LSTMCell/B": (2,)}
    with pytest.raises(ValueError, match=r"missing: \['RNN_0/.*Cell1/"):
        read_arrays(path, {**shapes_of(ARRAYS), **second})
    write_arrays(path, {**arrays, **ARRAYS}.items())
    with pytest.raises(ValueError, match=r"model: \['RNN_0/RNN/LSTMCell/B'"):
        read_arrays(path, shapes_of(ARRAYS))


def test_writing_replaces_the_file(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    arrays = {"char_embed": np.ones(3, "float32")}
    write_arrays(path.name, arrays.items())
    check_equal(all_arrays(path), arrays)
    assert os.listdir() == [path.name]
