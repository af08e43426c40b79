import keras
import numpy as np
import pytest
from backend_gradients import weight_gradients
from keras import ops
from small_models import make_shallow_elmo

from keras_elmo import Highway
from keras_elmo import ProjectedLSTMCell
from keras_elmo.layers.base_layers import new_weight
from keras_elmo.ops.backends import leave_out_random_values


class Embeddings(keras.layers.Layer):
    """A layer that names the initializer of its matrix."""

    def build(self, input_shape):
        normal = keras.initializers.RandomNormal()
        self.embeddings = new_weight(self, "embeddings", (9, 4), normal)


def matrices(layer):
    layer.build((None, 8))
    return {
        v.name: ops.convert_to_numpy(v) for v in layer.weights if v.ndim == 2
    }


def test_random_values_are_left_out_only_when_told(monkeypatch):
    def no_values(*_, **__):
        raise AssertionError("Values were drawn.")

    layer = Highway()
    for name in ("VarianceScaling", "RandomNormal"):
        kind = getattr(keras.initializers, name)
        monkeypatch.setattr(kind, "__call__", no_values)
    with leave_out_random_values():
        found = matrices(layer)
        cell = matrices(ProjectedLSTMCell(8, 4))
        words = matrices(Embeddings())
    assert {name: m.shape for name, m in found.items()} == {
        "carry_kernel": (8, 8),
        "transform_kernel": (8, 8),
    }
    for layer in (Highway(), Embeddings()):
        with pytest.raises(AssertionError, match="Values were drawn"):
            matrices(layer)
    monkeypatch.undo()
    for make in (Highway, lambda: ProjectedLSTMCell(8, 4)):
        for values in matrices(make()).values():
            assert np.unique(values).size == values.size
    assert {name: m.shape for name, m in cell.items()} == {
        "kernel": (8, 32),
        "recurrent_kernel": (4, 32),
        "projection_kernel": (8, 4),
    }
    assert words["embeddings"].shape == (9, 4)


def test_an_error_ends_it():
    with pytest.raises(RuntimeError), leave_out_random_values():
        raise RuntimeError
    assert matrices(Highway())["carry_kernel"].any()


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="TensorFlow's debugging."
)
def test_memory_with_nan_is_not_used_while_numbers_are_checked(monkeypatch):
    import tensorflow as tf

    def empty(shape, dtype, init):
        return tf.zeros(shape, dtype) / 0

    monkeypatch.setattr(tf.raw_ops, "Empty", empty)
    tf.debugging.enable_check_numerics()
    try:
        with leave_out_random_values():
            found = matrices(Highway())
    finally:
        tf.debugging.disable_check_numerics()
    assert np.isfinite(found["carry_kernel"]).all()


pytestmark = pytest.mark.in_graphs(False)

IDS = np.random.default_rng(0).integers(1, 250, (2, 3, 12), "int32")


def gradients(elmo):
    return weight_gradients(elmo, ops.sum, IDS)[1]


def test_a_frozen_encoder_passes_the_gradient_on():
    elmo = make_shallow_elmo()
    expected = gradients(elmo)
    elmo.encoder.trainable = False
    found = gradients(elmo)
    assert found.keys() == {
        weight.path
        for part in (elmo.token_encoder, elmo.scalar_mixes[0])
        for weight in part.weights
    }
    for path, gradient in found.items():
        np.testing.assert_allclose(
            gradient, expected[path], rtol=1e-5, atol=1e-5, err_msg=path
        )


def test_thawed_between_calls():
    elmo = make_shallow_elmo()
    expected = gradients(elmo)
    elmo.trainable = False
    elmo(IDS)
    elmo.trainable = True
    found = gradients(elmo)
    for path, gradient in expected.items():
        np.testing.assert_array_equal(found[path], gradient, err_msg=path)
