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


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ">f4"])
def test_what_is_written_is_read(path, dtype):
    arrays = {key: array.astype(dtype) for key, array in ARRAYS.items()}
    write_arrays(path, arrays.items())
    check_equal(all_arrays(path), arrays)
    check_equal(read_arrays(path, shapes_of(ARRAYS)), arrays)
    any_size = {**shapes_of(ARRAYS), "char_embed": (None, 2)}
    check_equal(read_arrays(path, any_size), arrays)


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
        (np.array([object()]), None, TypeError, "dtype"),
    ],
)
def test_a_failing_write_changes_nothing(path, array, dtype, error, message):
    before = path.read_bytes()
    arrays = {**ARRAYS, "bad": array}
    with pytest.raises(error, match=message):
        write_arrays(path, arrays.items(), dtype)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


WHOLE = ARRAYS["char_embed"]


@pytest.mark.parametrize(
    ("array", "shape", "expected", "received"),
    [
        *(
            (WHOLE, shape, f"have the shape {shape} of the options", "(3, 2)")
            for shape in ((2, 3), (None,), (None,) * 3)
        ),
        (WHOLE * 1j, (3, 2), "hold floating-point numbers", "dtype=complex64"),
        (WHOLE + np.inf, (3, 2), "hold finite numbers", "an infinity or a NaN"),
    ],
)
def test_wrong_arrays(path, array, shape, expected, received):
    write_arrays(path, {**ARRAYS, "char_embed": array}.items())
    told = f"The array 'char_embed' of the weight file '{path}' must {expected}"
    with pytest.raises(
        ValueError, match=re.escape(f"{told}. Received: {received}")
    ):
        read_arrays(path, {**shapes_of(ARRAYS), "char_embed": shape})


def test_what_is_no_weight_file(tmp_path):
    path = tmp_path / "a.hdf5"
    with pytest.raises(FileNotFoundError, match=f"no weight file '{path}'"):
        read_arrays(path, {})
    with pytest.raises(ValueError, match=f"{tmp_path}' .*not a regular file"):
        read_arrays(tmp_path, {})
    for content in (b"", b"\0" * 5000):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"'{path}' cannot be read"):
            read_arrays(path, {})


def test_missing_and_extra_arrays(path):
    shapes = shapes_of(ARRAYS)
    shapes["CNN_proj/W_proj"] = shapes["CNN_proj/b_proj"] = (2,)
    del shapes["char_embed"]
    told = (
        r"missing: \['CNN_proj/W_proj', 'CNN_proj/b_proj'\]\. "
        r".* not in the model: \['char_embed'\]\."
    )
    with pytest.raises(ValueError, match=f"'{path}' does not match.*{told}"):
        read_arrays(path, shapes)


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
