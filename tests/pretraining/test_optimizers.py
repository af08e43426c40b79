import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops
from pretraining.small_trainings import make_settings

from keras_elmo.pretraining.optimizers import make_optimizer


@pytest.mark.parametrize(
    "schedule, warmup, total, expected",
    [
        ("constant", 0, 3, [2, 2, 2]),
        ("constant", 4, 6, [0, 0.5, 1, 1.5, 2, 2]),
        ("linear", 0, 4, [2, 1.5, 1, 0.5, 0, 0]),
        ("linear", 2, 6, [0, 1, 2, 1.5, 1, 0.5, 0]),
    ],
)
def test_learning_rates(schedule, warmup, total, expected):
    settings = {"learning_rate_schedule": schedule, "warmup_steps": warmup}
    settings = make_settings(learning_rate=2, **settings)
    optimizer = make_optimizer(settings, total)
    for step, rate in enumerate(expected):
        optimizer._iterations.assign(step)
        found = float(optimizer.learning_rate)
        assert found == pytest.approx(rate, abs=1e-6)


def test_fused_adam_is_keras_adam():
    rows = [[1, 7, 9], [0, 7, 11], [3, 2, 1]]
    generator = np.random.default_rng(0)
    gradients = [
        [generator.normal(size=s).astype("float32") for s in ((3, 4), 5)]
        for _ in rows
    ]

    def train(optimizer):
        table = keras.Variable(np.ones((12, 4), "float32"))
        bias = keras.Variable([0.0] * 5)
        optimizer.build([table, bias])
        for indices, (of_rows, of_bias) in zip(rows, gradients):
            sparse = tf.IndexedSlices(of_rows, indices, (12, 4))
            optimizer.apply([sparse, tf.constant(of_bias)])
        variables = [table, bias, *optimizer.variables]
        return [ops.convert_to_numpy(v) for v in variables]

    settings = make_settings(optimizer="adam", learning_rate=0.1)
    fused, plain = make_optimizer(settings, 10), keras.optimizers.Adam(0.1)
    for found, expected in zip(train(fused), train(plain), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
