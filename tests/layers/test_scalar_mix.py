import keras
import numpy as np
import pytest
from comparisons import assert_close
from comparisons import assert_equal
from keras import ops

from keras_elmo import ScalarMix

MASK = np.array([[True, True, False], [True, False, False]])


def random_layers(number=3):
    generator = np.random.default_rng(0)
    return [
        generator.normal(i, 2, size=(2, 3, 4)).astype("float32")
        for i in range(number)
    ]


def mix_of(layers, scalars, gamma, **kwargs):
    mix = ScalarMix(**kwargs)
    mix.build([layer.shape for layer in layers])
    if scalars is not None:
        mix.scalars.assign(scalars)
    mix.gamma.assign(gamma)
    return mix


def softmax(x):
    e = np.exp(np.asarray(x, "float64"))
    return e / e.sum()


@pytest.mark.parametrize("number", [2, 3, 5])
def test_equals_the_formula(number):
    layers = random_layers(number)
    scalars = np.linspace(-1, 2, number)
    mix = mix_of(layers, scalars, 1.5)
    expected = 1.5 * np.tensordot(softmax(scalars), layers, 1)
    assert_close(mix(layers), expected, atol=1e-5)
    weights, gamma = mix.mix_weights
    assert_close(weights, softmax(scalars), rtol=1e-6, atol=0)
    assert gamma == 1.5


def test_weights_in_half_precision_sum_to_one():
    mix = ScalarMix(dtype="mixed_bfloat16")
    mix(random_layers(3))
    assert abs(mix.mix_weights.weights.sum() - 1) < 1e-6


def test_the_output_of_a_mix_that_is_not_built():
    layers = [keras.KerasTensor((2, 3, 4))] * 3
    assert ScalarMix().compute_output_spec(layers).shape == (2, 3, 4)


def test_layer_norm_uses_the_unmasked_entries():
    layers = random_layers()
    expected = 0
    for layer in np.asarray(layers, "float64"):
        entries = layer[MASK]
        normal = (layer - entries.mean()) / np.sqrt(entries.var() + 1e-12)
        expected = expected + normal / 3
    expected = np.where(MASK[..., None], expected, 0)
    mix = mix_of(layers, None, 1.0, layer_norm=True)
    assert_close(mix(layers, mask=MASK), expected, atol=1e-5)
    for bad in (np.nan, -np.inf):
        damaged = [np.where(MASK[..., None], x, bad) for x in layers]
        assert_close(mix(damaged, mask=MASK), expected, atol=1e-5)
    # A list of masks, as Keras collects it from the inputs, works the same.
    assert_equal(mix(layers, mask=[None, MASK, MASK]), mix(layers, mask=MASK))


@pytest.mark.skipif(
    keras.backend.backend() == "jax", reason="JAX has no float64 by default"
)
def test_layer_norm_of_float64():
    x = 1e8 + np.random.default_rng(0).normal(size=(2, 3, 4))
    mix = ScalarMix(layer_norm=True, dtype="float64")
    found = ops.convert_to_numpy(mix([x, x]))
    np.testing.assert_allclose(found, (x - x.mean()) / x.std(), rtol=1e-4)


def test_layer_norm_without_mask_and_with_nothing_unmasked():
    layers = random_layers()
    mix = mix_of(layers, None, 1.0, layer_norm=True)
    assert_equal(mix(layers), mix(layers, mask=np.ones((2, 3), bool)))
    nothing = mix(layers, mask=np.zeros((2, 3), bool))
    assert_equal(nothing, 0)


@pytest.mark.parametrize(
    "regularizer, expected",
    [
        (keras.regularizers.L2(0.1), 1.4),
        (keras.regularizers.serialize(keras.regularizers.L2(0.1)), 1.4),
        ("l1", 0.06),
    ],
)
def test_the_regularizer_is_that_of_the_scalars(regularizer, expected):
    layers = random_layers()
    scalars = [1.0, 2.0, -3.0]
    mix = mix_of(layers, scalars, 1.0, regularizer=regularizer)
    again = mix_of(layers, scalars, 1.0, **mix.get_config())
    for layer in (mix, again):
        layer(layers)
        (loss,) = layer.losses
        assert float(ops.convert_to_numpy(loss)) == pytest.approx(expected)
    assert mix_of(layers, [1.0, 2.0, -3.0], 1.0).losses == []


def test_fixed_weights_are_used_as_they_are_and_not_trained():
    layers = random_layers()
    mix = mix_of(layers, None, 2.0, fixed_weights=[0, 0, 1])
    assert_close(mix(layers), 2 * layers[2], rtol=1e-6, atol=0)
    assert [v.name for v in mix.trainable_weights] == ["gamma"]
    assert_equal(mix.mix_weights.weights, [0, 0, 1])


def test_the_mask_passes_through():
    masked = [
        keras.layers.Masking()(np.where(MASK[..., None], layer, 0))
        for layer in random_layers()
    ]
    assert_equal(ScalarMix()(masked)._keras_mask, MASK)


def test_a_built_mix_takes_its_number_of_layers_only():
    layers = random_layers()
    mix = mix_of(layers, None, 1.0)
    stacked = np.stack(layers)
    inputs = [stacked, keras.Input(batch_shape=stacked.shape)]
    for bad in inputs:
        with pytest.raises(ValueError, match="expects 3 input"):
            mix(bad)
    for bad in (layers[:2], [*layers, layers[0]]):
        with pytest.raises(ValueError, match="expects 3 input"):
            mix(bad)


def test_bad_inputs_are_named():
    layers = random_layers()
    with pytest.raises(ValueError, match="takes a list of tensors"):
        ScalarMix()(layers[0])
    with pytest.raises(ValueError, match="tensors of the same shape"):
        ScalarMix()([layers[0], layers[1][:, :2]])
    with pytest.raises(ValueError, match="tensors of the same shape"):
        ScalarMix()([layers[0], layers[1][..., 0]])
    with pytest.raises(ValueError, match=r"fixed_weights.*\[1.0\]"):
        ScalarMix(fixed_weights=[1])(layers)
    with pytest.raises(ValueError, match="regularizer identifier: nothing"):
        ScalarMix(regularizer="nothing")
    with pytest.raises(ValueError, match="they take no `reg"):
        ScalarMix(regularizer="l2", fixed_weights=[1, 0, 0])
    for bad in (1e39, float("nan"), -float("inf")):
        with pytest.raises(ValueError, match="must be finite numbers"):
            ScalarMix(fixed_weights=[0, bad, 1])
    with pytest.raises(ValueError, match="call it or build it"):
        ScalarMix().mix_weights  # noqa: B018
