import keras
import numpy as np
import pytest
from comparisons import assert_close
from comparisons import assert_equal
from keras import ops

from keras_elmo import ScalarMix

MASK = np.array([[True, True, False], [True, False, False]])
LAYERS = np.random.default_rng(0).normal(2, 2, (3, 2, 3, 4)).astype("float32")


def mix_of(layers, scalars, gamma, **kwargs):
    mix = ScalarMix(**kwargs)
    mix.build([layer.shape for layer in layers])
    if scalars is not None:
        mix.scalars.assign(scalars)
    mix.gamma.assign(gamma)
    return mix


def test_equals_the_formula():
    scalars = np.array([-1.0, 0.5, 2.0])
    softmax = np.exp(scalars) / np.exp(scalars).sum()
    mix = mix_of(LAYERS, scalars, 1.5)
    expected = 1.5 * np.tensordot(softmax, LAYERS, 1)
    assert_close(mix([*LAYERS]), expected, atol=1e-5)
    weights, gamma = mix.mix_weights
    assert_close(weights, softmax, rtol=1e-6, atol=0)
    assert gamma == 1.5


def test_weights_in_half_precision_sum_to_one():
    mix = mix_of(LAYERS, None, 1.0, dtype="mixed_bfloat16")
    assert abs(mix.mix_weights.weights.sum() - 1) < 1e-6


def test_layer_norm_uses_the_unmasked_entries():
    expected = 0
    for layer in LAYERS.astype("float64"):
        entries = layer[MASK]
        normal = (layer - entries.mean()) / np.sqrt(entries.var() + 1e-12)
        expected = expected + normal / 3
    expected = np.where(MASK[..., None], expected, 0)
    mix = mix_of(LAYERS, None, 1.0, layer_norm=True)
    for damage in (0, np.nan, -np.inf):
        layers = [*np.where(MASK[..., None], LAYERS, damage)]
        assert_close(mix(layers, mask=MASK), expected, atol=1e-5)
    # A list of masks, as Keras collects it from the inputs, works the same.
    assert_equal(mix(layers, mask=[None, MASK, MASK]), mix(layers, mask=MASK))
    assert_equal(mix([*LAYERS]), mix([*LAYERS], mask=np.ones((2, 3), bool)))
    assert_equal(mix([*LAYERS], mask=np.zeros((2, 3), bool)), 0)


@pytest.mark.skipif(
    keras.backend.backend() == "jax", reason="JAX has no float64 by default"
)
def test_layer_norm_of_float64():
    x = 1e8 + np.random.default_rng(0).normal(size=(2, 3, 4))
    mix = ScalarMix(layer_norm=True, dtype="float64")
    found = ops.convert_to_numpy(mix([x, x]))
    np.testing.assert_allclose(found, (x - x.mean()) / x.std(), rtol=1e-4)


@pytest.mark.parametrize(
    ("regularizer", "expected"),
    [(keras.regularizers.L2(0.1), 1.4), ("l1", 0.06)],
)
def test_the_regularizer_is_that_of_the_scalars(regularizer, expected):
    scalars = [1.0, 2.0, -3.0]
    mix = mix_of(LAYERS, scalars, 1.0, regularizer=regularizer)
    for layer in (mix, mix_of(LAYERS, scalars, 1.0, **mix.get_config())):
        (loss,) = layer.losses
        assert float(ops.convert_to_numpy(loss)) == pytest.approx(expected)


def test_fixed_weights_are_used_as_they_are_and_not_trained():
    mix = mix_of(LAYERS, None, 2.0, fixed_weights=[0, 0, 1])
    assert_close(mix([*LAYERS]), 2 * LAYERS[2], rtol=1e-6, atol=0)
    assert [v.name for v in mix.trainable_weights] == ["gamma"]
    assert_equal(mix.mix_weights.weights, [0, 0, 1])


def test_a_built_mix_takes_its_number_of_layers_only():
    mix = mix_of(LAYERS, None, 1.0)
    for bad in (LAYERS, [*LAYERS[:2]], keras.Input(batch_shape=LAYERS.shape)):
        with pytest.raises(ValueError, match="expects 3 input"):
            mix(bad)


@pytest.mark.parametrize(
    ("arguments", "layers", "message"),
    [
        ({}, LAYERS[0], "takes a list of tensors"),
        ({}, [LAYERS[0], LAYERS[1][:, :2]], "tensors of the same shape"),
        ({"fixed_weights": [1]}, [*LAYERS], r"fixed_weights.*\[1.0\]"),
        ({"regularizer": "l2", "fixed_weights": [1]}, None, "take no `reg"),
        ({"fixed_weights": [0, -1e39]}, None, "must be finite numbers"),
        ({"fixed_weights": [float("nan"), 1]}, None, "must be finite numbers"),
    ],
)
def test_bad_inputs_are_named(arguments, layers, message):
    with pytest.raises(ValueError, match=message):
        ScalarMix(**arguments)(layers)


def test_a_mix_that_is_not_built_has_no_weights():
    with pytest.raises(ValueError, match="call it or build it"):
        ScalarMix().mix_weights  # noqa: B018
