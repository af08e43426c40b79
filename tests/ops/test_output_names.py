import keras
import pytest

from keras_elmo.ops.output_names import check_labels
from keras_elmo.ops.output_names import label_names


@pytest.mark.parametrize("names", [[], "names", [1, 2], [["a"], "b"]])
def test_names_that_are_none(names):
    with pytest.raises(ValueError, match="`labels` must be lists of names"):
        label_names({}, {"tags": names})


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((None, None, 1), "float32"),
        ((None,), "float32"),
        ((None, None, None, 2), "float32"),
        ((None, None), "string"),
        ((), "int32"),
    ],
)
def test_outputs_that_are_no_labels(shape, dtype):
    output = keras.KerasTensor(shape, dtype)
    with pytest.raises(ValueError, match="To have labels, output 'tags'"):
        check_labels({"tags": ["no", "yes"]}, {"tags": output})


def test_outputs_that_there_are_not():
    output = keras.KerasTensor((None, None), "int32")
    with pytest.raises(ValueError, match=r"\['tags'\]. Received: \['tag'\]"):
        check_labels({"tag": ["no", "yes"]}, {"tags": output})
