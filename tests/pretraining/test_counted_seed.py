import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo.pretraining.counted_seed import CountedSeed


def draws(seed, step, number=4):
    """Some draws of a step: (number, 3)."""
    seed = CountedSeed(seed, step)
    return np.array(
        [
            ops.convert_to_numpy(keras.random.uniform((3,), seed=seed))
            for _ in range(number)
        ]
    )


def test_same_seed_and_step_same_draws():
    np.testing.assert_array_equal(draws(3, 5), draws(3, 5))


def test_all_draws_differ():
    # PyTorch adds a seed's two numbers up.
    found = {
        tuple(row)
        for seed in (0, 1, 7)
        for step in range(8)
        for row in draws(seed, step)
    }
    assert len(found) == 3 * 8 * 4


@pytest.mark.parametrize("step", [0, 1, 1_000_000, 2**31 - 1])
@pytest.mark.parametrize("dtype", [None, "int32", "int64"])
def test_step_may_be_a_tensor(step, dtype):
    if dtype == "int64" and keras.backend.backend() == "jax":
        pytest.skip("JAX has no int64 unless asked.")
    tensor = step if dtype is None else ops.convert_to_tensor(step, dtype)
    np.testing.assert_array_equal(draws(4, tensor), draws(4, step))


@pytest.mark.parametrize("seed", [2**19 - 1, 2**31 - 1, 2**40 + 3])
def test_large_seeds(seed):
    found = draws(seed, 2**31 - 1)
    assert np.all((found >= 0) & (found < 1))
    np.testing.assert_array_equal(found, draws(seed, 2**31 - 1))


def test_no_step_has_another_ones_seed():
    steps = [0, 1, 2, 3, 2**20, 2**20 + 1, 2**30, 2**31 - 1]
    found = {
        tuple(ops.convert_to_numpy(CountedSeed(0, step).next()).tolist())
        for step in steps
    }
    assert len(found) == len(steps)


def test_dropout_draws_from_it():
    x = ops.ones((4, 50))
    seed, again = CountedSeed(0, 1), CountedSeed(0, 1)
    first, second = (
        ops.convert_to_numpy(keras.random.dropout(x, 0.5, seed=seed))
        for _ in range(2)
    )
    assert np.any(first != second)
    np.testing.assert_array_equal(
        ops.convert_to_numpy(keras.random.dropout(x, 0.5, seed=again)), first
    )


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Of TensorFlow's graphs."
)
def test_in_a_graph_as_outside():
    import tensorflow as tf

    @tf.function
    def in_graph(step):
        seed = CountedSeed(3, step)
        return [keras.random.uniform((3,), seed=seed) for _ in range(4)]

    for step in (0, 7, 2**31 - 1):
        np.testing.assert_array_equal(
            in_graph(tf.constant(step)), draws(3, step)
        )
    assert in_graph.experimental_get_tracing_count() == 1
