import keras
import pytest

from keras_elmo.models.output_names import check_tagged_outputs
from keras_elmo.models.output_names import tag_names_of


def test_names_that_are_none():
    for names in ([], "names", b"names", 3, [["a"], "b"]):
        with pytest.raises(ValueError, match="`tag_names` must be lists of na"):
            tag_names_of({}, {"tags": names})


@pytest.mark.parametrize("number", [0, 2])
def test_a_list_is_for_one_output(number):
    output = keras.layers.Dense(2)(keras.Input((3,)))
    assert tag_names_of({"x": output}, ["a", "b"]) == {"x": ["a", "b"]}
    outputs = dict.fromkeys(["x", "y"][:number], output)
    with pytest.raises(ValueError, match="must be a dictionary from an output"):
        tag_names_of(outputs, ["a", "b"])


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((None, None, 1), "float32"),
        ((None, None, None, 2), "float32"),
        ((None, None), "string"),
        ((), "int32"),
    ],
)
def test_outputs_that_are_no_tags(shape, dtype):
    output = keras.KerasTensor(shape, dtype)
    with pytest.raises(ValueError, match="To have `tag_names`, output 'tags'"):
        check_tagged_outputs({"tags": ["no", "yes"]}, {"tags": output})


def test_outputs_that_there_are_not():
    output = keras.KerasTensor((None, None), "int32")
    with pytest.raises(ValueError, match=r"\['tags'\]. Received: \['tag'\]"):
        check_tagged_outputs({"tag": ["no", "yes"]}, {"tags": output})
