import keras
import numpy as np
import pytest
from keras import ops
from onnx_sessions import answer
from onnx_sessions import open_session
from small_models import make_shallow_elmo

from keras_elmo import batch_to_ids
from keras_elmo import export_onnx
from keras_elmo.models.word_model import after_elmo
from keras_elmo.models.word_model import check_tagged_outputs
from keras_elmo.models.word_model import tag_names_of
from keras_elmo.models.word_model import with_separate_layers
from keras_elmo.serving.model_outputs import ModelOutputs

pytestmark = pytest.mark.in_graphs(False)

L = keras.layers
IDS = batch_to_ids([["Ann", "met", "Bo", "."], ["Yes", "!"]], 12)
MASK = IDS.any(axis=-1)


def test_a_layer_may_be_called_twice(tmp_path):
    x, mask = keras.Input((None, 24)), keras.Input((None,), dtype="bool")
    dense = L.Dense(24, activation="tanh", name="dense")
    lstm = L.LSTM(24, return_sequences=True)
    y = dense(lstm(dense(x), mask=mask))
    head = keras.Model([x, mask], [dense(x), y, dense(lstm(y, mask=mask))])
    elmo = with_separate_layers(make_shallow_elmo())
    vectors = ops.concatenate(elmo(IDS), axis=-1)
    expected = head([vectors, ops.convert_to_tensor(MASK)])
    model = after_elmo(head, elmo)
    names = ["dense", "dense_1", "dense_2"]
    export_onnx(model, tmp_path / "model.onnx")
    exported = answer(open_session(tmp_path / "model.onnx"), ids=IDS)
    served = ModelOutputs(model)(IDS)
    assert list(served) == list(exported) == names
    for *found, x in zip(
        model(IDS),
        served.values(),
        exported.values(),
        expected,
        strict=True,
    ):
        for y in found:
            x, y = map(ops.convert_to_numpy, (x, y))
            np.testing.assert_allclose(y[MASK], x[MASK], atol=1e-6)


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
