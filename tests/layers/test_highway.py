import keras
import numpy as np
import numpy_reference
from comparisons import assert_close
from keras.ops import convert_to_numpy as as_numpy
from small_models import randomize

from keras_elmo import Highway


def test_equals_the_oracle():
    layer = Highway()
    layer.build((None, None, 5))
    randomize(layer)
    x = np.random.default_rng(0).normal(size=(2, 4, 5))
    carry = as_numpy(layer.carry_kernel), as_numpy(layer.carry_bias)
    new = as_numpy(layer.transform_kernel), as_numpy(layer.transform_bias)
    expected = numpy_reference.highway(x, carry, new)
    assert_close(layer(x.astype("float32")), expected)


def test_untrained_mostly_passes_its_input_on():
    layer = Highway()
    layer.build((None, 4))
    kernels = layer.carry_kernel, layer.transform_kernel
    # Each draws its own values.
    assert np.all(as_numpy(kernels[0]) != as_numpy(kernels[1]))
    for kernel in kernels:
        kernel.assign(np.zeros((4, 4)))
    x = np.ones((1, 4), "float32")
    gate = numpy_reference.sigmoid(-2.0)
    assert_close(layer(x), np.full((1, 4), 1 - gate), rtol=1e-6, atol=0)


def test_the_activation_is_the_one_asked_for():
    copy = Highway.from_config(Highway(activation="tanh").get_config())
    assert copy.activation is keras.activations.tanh
