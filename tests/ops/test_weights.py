"""How weights begin, and which of them have gradients."""

import keras
import numpy as np
import pytest
from backend_gradients import weight_gradients
from comparisons import assert_close
from comparisons import assert_equal
from keras import ops
from small_models import make_shallow_elmo

from keras_elmo import Highway
from keras_elmo import ProjectedLSTMCell
from keras_elmo.layers.base_layers import leave_out_random_values

pytestmark = pytest.mark.in_graphs(False)

IDS = np.random.default_rng(0).integers(1, 250, (2, 3, 12), "int32")


def matrices(layer):
    layer.build((None, 8))
    return {
        v.name: ops.convert_to_numpy(v) for v in layer.weights if v.ndim == 2
    }


@pytest.mark.parametrize(
    ("make", "shapes"),
    [
        (Highway, [(8, 8), (8, 8)]),
        # It names the initializers of its matrices.
        (lambda: ProjectedLSTMCell(8, 4), [(8, 32), (4, 32), (8, 4)]),
    ],
)
def test_random_values_are_left_out_only_when_told(monkeypatch, make, shapes):
    for values in matrices(make()).values():
        assert np.unique(values).size == values.size

    def no_values(*_, **__):
        raise AssertionError("Values were drawn.")

    for name in ("VarianceScaling", "RandomUniform"):
        kind = getattr(keras.initializers, name)
        monkeypatch.setattr(kind, "__call__", no_values)
    with leave_out_random_values():
        found = matrices(make())
    assert [x.shape for x in found.values()] == shapes
    with pytest.raises(RuntimeError), leave_out_random_values():
        raise RuntimeError  # An error ends it, too.
    with pytest.raises(AssertionError, match="Values were drawn"):
        matrices(make())


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


@pytest.mark.in_graphs(True)
def test_frozen_parts_pass_the_gradient_on_and_thaw_between_calls():
    elmo = make_shallow_elmo()

    def gradients():
        return weight_gradients(elmo, ops.sum, IDS)[1]

    elmo.trainable = False
    elmo(IDS)
    elmo.trainable = True
    expected = gradients()
    elmo.encoder.trainable = False
    found = gradients()
    parts = elmo.token_encoder, elmo.scalar_mixes[0]
    assert found.keys() == {w.path for part in parts for w in part.weights}
    for path, gradient in found.items():
        assert_close(gradient, expected[path], atol=1e-5, err_msg=path)
    elmo.encoder.trainable = True
    found = gradients()
    for path, gradient in expected.items():
        assert_equal(found[path], gradient, path)
