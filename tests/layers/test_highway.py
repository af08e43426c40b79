import keras
import numpy as np
import numpy_reference
import pytest
from comparisons import assert_close
from keras import ops
from small_models import randomize

from keras_elmo import Highway


@pytest.mark.parametrize("shape", [(3, 5), (2, 4, 5), (1, 1, 1, 5)])
def test_equals_the_oracle(shape):
    layer = Highway()
    layer.build(shape)
    randomize(layer)
    x = np.random.default_rng(0).normal(size=shape)
    expected = numpy_reference.highway(
        x,
        [
            ops.convert_to_numpy(v)
            for v in (layer.carry_kernel, layer.carry_bias)
        ],
        [
            ops.convert_to_numpy(v)
            for v in (layer.transform_kernel, layer.transform_bias)
        ],
    )
    y = ops.convert_to_numpy(layer(x.astype("float32")))
    assert_close(y, expected)


def test_untrained_mostly_passes_its_input_on():
    layer = Highway()
    layer.build((None, 4))
    for kernel in (layer.carry_kernel, layer.transform_kernel):
        kernel.assign(np.zeros((4, 4)))
    x = np.ones((1, 4), "float32")
    gate = numpy_reference.sigmoid(-2.0)
    assert_close(layer(x), np.full((1, 4), 1 - gate), rtol=1e-6, atol=0)


def test_the_activation_is_the_one_asked_for():
    layer = Highway(activation="tanh")
    assert layer.activation is keras.activations.tanh
    config = Highway.from_config(layer.get_config()).get_config()
    assert config == layer.get_config()


def test_each_kernel_draws_its_own_values():
    layer = Highway()
    layer.build((None, 4))
    carry, transform = (
        ops.convert_to_numpy(kernel)
        for kernel in (layer.carry_kernel, layer.transform_kernel)
    )
    assert np.all(carry != transform)
