import keras
import numpy as np
import onnxruntime
import pytest
from keras import ops
from small_models import make_shallow_elmo

from keras_elmo import batch_to_ids
from keras_elmo import export_onnx
from keras_elmo.models.keras_file import after_elmo
from keras_elmo.models.keras_file import with_separate_layers
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
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    served = ModelOutputs(model)(IDS)
    assert list(served) == names
    for *found, x in zip(
        model(IDS),
        served.values(),
        session.run(names, {"ids": IDS}),
        expected,
        strict=True,
    ):
        for y in found:
            x, y = map(ops.convert_to_numpy, (x, y))
            np.testing.assert_allclose(y[MASK], x[MASK], atol=1e-6)
