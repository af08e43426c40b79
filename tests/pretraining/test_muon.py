"""The optimizer Muon, on TensorFlow and JAX."""

import keras
import numpy as np
import pytest
from keras import ops
from pretraining.small_language_models import make_model
from pretraining.small_trainings import make_settings

from keras_elmo.pretraining import muon
from keras_elmo.pretraining.optimizers import make_optimizer

RATE = 0.01


def random_matrix(shape):
    """Returns a matrix with singular values from 0.01 to 1, and the nearest
    one whose singular values are 1.
    """
    generator = np.random.default_rng(0)
    left, _, right = np.linalg.svd(generator.normal(size=shape), False)
    values = np.geomspace(1, 1e-2, min(shape))
    return ((left * values) @ right).astype("float32"), left @ right


def orthogonal(x):
    return ops.convert_to_numpy(muon.orthogonal(ops.convert_to_tensor(x)))


@pytest.mark.parametrize("shape", [(6, 20), (20, 6), (8, 8)])
def test_singular_values_become_about_equal(shape):
    x, expected = random_matrix(shape)
    got = orthogonal(x) / max(shape) ** 0.5
    values = np.linalg.svd(got, compute_uv=False)
    # The polynomials are rough for the sake of speed.
    assert values.min() > 0.75 and values.max() < 1.15
    # Only the singular values change.
    size = np.linalg.norm(got) * min(shape) ** 0.5
    assert np.sum(got * expected) > 0.99 * size
    np.testing.assert_allclose(got.T @ expected, expected.T @ got, atol=2e-4)


def test_large_matrices_are_divided_into_blocks():
    x, _ = random_matrix((256, 300))
    blocks = np.concatenate([orthogonal(block) for block in np.split(x, 2)])
    np.testing.assert_allclose(orthogonal(x), blocks, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("shape", [(1, 1), (5, 1)])
def test_a_vector_gets_a_size_of_about_one(shape):
    got = orthogonal(np.full(shape, -1e-3, "float32"))
    np.testing.assert_allclose(got, np.full(shape, -1.0), rtol=0.2)
    # Unless it is zero.
    assert not np.any(orthogonal(np.zeros(shape, "float32")))


def test_which_variables_are_matrices():
    model = make_model({"num_layers": 1})
    taken = [v for v in model.trainable_variables if muon.takes_muon(v)]
    assert {v.name for v in taken} == {
        *("carry_kernel", "transform_kernel", "projection_kernel"),
        *("kernel", "recurrent_kernel"),
    }
    # Of a projection, two highways and two cells.
    assert len(taken) == 1 + 2 * 2 + 2 * 3
    assert not any(v is model.softmax.kernel for v in taken)


class Variables(keras.layers.Layer):
    """A matrix, and two variables that Adam updates."""

    def build(self):
        self.kernel = self.add_weight((4, 6), name="kernel")
        self.bias = self.add_weight((6,), name="bias")
        self.table = self.add_weight((5, 3), name="embeddings")
        self.built = True


def make(optimizer, clip_norm=10.0):
    """Returns an optimizer, and the variables that it is built for."""
    keras.utils.set_random_seed(0)
    settings = {"optimizer": optimizer, "clip_norm": clip_norm}
    optimizer = make_optimizer(make_settings(learning_rate=RATE, **settings), 9)
    layer = Variables()
    layer.build()
    optimizer.build(layer.trainable_variables)
    return optimizer, layer.trainable_variables


def train(optimizer, variables, steps=3):
    """Returns the variables before and after steps with random gradients."""
    starts = [ops.convert_to_numpy(v) for v in variables]
    generator = np.random.default_rng(1)
    gradients = [
        [generator.normal(size=v.shape).astype("float32") for v in starts]
        for _ in range(steps)
    ]
    for step in gradients:
        optimizer.apply(list(map(ops.convert_to_tensor, step)))
    return starts, gradients, [ops.convert_to_numpy(v) for v in variables]


def test_updates():
    starts, gradients, (kernel, *others) = train(*make("muon", 1e9))
    _, _, (_, *expected) = train(*make("adam", 1e9))
    for found, value in zip(others, expected, strict=True):
        np.testing.assert_array_equal(found, value)
    value, momentum = starts[0], 0.0
    for gradient, *_ in gradients:
        momentum = 0.95 * momentum + gradient
        update = orthogonal((gradient + 0.95 * momentum).astype("float32"))
        value = value - RATE * 0.2 * update
    np.testing.assert_allclose(kernel, value, rtol=1e-4, atol=1e-6)


def test_gradients_are_clipped_before():
    optimizer, variables = make("muon", 1e-3)
    train(optimizer, variables)
    momentum = ops.convert_to_numpy(optimizer.variables[-6])
    assert momentum.shape == (4, 6)
    assert 0 < np.linalg.norm(momentum) < 3e-3


@pytest.mark.skipif(
    keras.backend.backend() not in ("tensorflow", "jax"),
    reason="PyTorch multiplies float32 exactly by default",
)
def test_products_are_not_rounded_on_a_gpu():
    optimizer, variables = make("muon")
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        precision = tf.config.experimental
        precision.enable_tensor_float_32_execution(True)
        train(optimizer, variables, 1)
        assert not precision.tensor_float_32_execution_enabled()
        return
    import jax

    slots = [variable.value for variable in optimizer.variables]
    values = [variable.value for variable in variables]
    step = str(jax.make_jaxpr(optimizer.stateless_apply)(slots, values, values))
    products = step.count("dot_general[")
    assert products > 10
    assert step.count("(Precision.HIGHEST, Precision.HIGHEST)") == products
