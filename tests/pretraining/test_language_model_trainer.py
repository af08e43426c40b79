import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops
from keras.random import SeedGenerator
from pretraining.small_trainings import OPTIONS
from pretraining.small_trainings import make_settings

from keras_elmo import BidirectionalLanguageModel
from keras_elmo.pretraining import LanguageModelTrainer
from keras_elmo.pretraining.model_files import make_language_model
from keras_elmo.pretraining.optimizers import make_optimizer

WORDS = 20


class Run:
    """A trainer, and steps on random windows."""

    def __init__(self, **settings):
        self.settings = settings = make_settings(**settings)
        self.model = make_language_model(
            BidirectionalLanguageModel, settings.options, WORDS
        )
        self.trainer = LanguageModelTrainer(
            self.model,
            settings.batch_size,
            reset_rate=settings.reset_rate,
            seed=0,
        )
        self.trainer.compile(make_optimizer(settings, 100))
        generator = np.random.default_rng(1)
        for variable in self.model.trainable_variables:
            variable.assign(generator.normal(0, 0.5, variable.shape))
        self.generator = np.random.default_rng(0)

    def window(self):
        """Returns inputs and targets with few words, so that many repeat."""
        shape = (2, self.settings.batch_size, self.settings.unroll_steps)
        token_shape = self.model.token_encoder.token_shape
        ids = self.generator.integers(1, 6, (9, *token_shape), "int32")
        indices = self.generator.integers(0, 9, shape, "int32")
        targets = self.generator.integers(1, 6, shape, "int32")
        return (ids, *indices), tuple(targets)

    def step(self, window=None):
        """Makes a step; returns its loss."""
        found = self.trainer.train_on_batch(
            *(window or self.window()), return_dict=True
        )
        return float(found["window_loss"])

    def weights(self):
        return [ops.convert_to_numpy(v) for v in self.model.trainable_variables]

    def state(self):
        return [ops.convert_to_numpy(v) for v in self.trainer.states]

    def loss(self, window):
        """Returns the loss of a step and the next state, by model methods."""
        (ids, *indices), targets = window
        inputs = [ids[index] for index in indices]
        seed = SeedGenerator(0)
        seed.state.assign(self.trainer._draws.state)
        state = [variable.value for variable in self.trainer.states]
        hidden, state = self.model._predict_hidden(inputs, state, seed)
        losses = self.model._sampled_losses_of(hidden, targets, seed)
        # The mean of the means of both directions.
        return tf.reduce_mean(tf.stack(losses)), state

    def gradients(self, window):
        """Float64 gradients of the loss summed over a row."""
        with tf.GradientTape() as tape:
            loss, _ = self.loss(window)
        variables = [v.value for v in self.model.trainable_variables]
        gradients = tape.gradient(loss, variables)
        # Those of the softmax, in which words repeat.
        assert sum(isinstance(g, tf.IndexedSlices) for g in gradients) == 2
        steps = float(self.settings.unroll_steps)
        dense = [tf.convert_to_tensor(g).numpy() * steps for g in gradients]
        return [g.astype("float64") for g in dense]


def check_close(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=2e-6)


def test_steps_are_bilm_tfs():
    run = Run(clip_norm=4.0)
    weights = [weight.astype("float64") for weight in run.weights()]
    sums, factors = [np.ones_like(weight) for weight in weights], []
    for _ in range(3):
        window = run.window()
        gradients = run.gradients(window)
        loss, state = run.loss(window)
        assert run.step(window) == pytest.approx(float(loss), rel=1e-6)
        # Gradients are clipped by their global norm, then Adagrad.
        norm = np.sqrt(sum((g**2).sum() for g in gradients))
        factors.append(min(1.0, 4.0 / norm))
        for weight, total, gradient in zip(weights, sums, gradients):
            total += (factors[-1] * gradient) ** 2
            weight -= 0.2 * factors[-1] * gradient / np.sqrt(total)
        check_close(run.weights(), weights)
        # The next window continues from this state.
        check_close(run.state(), state)
    assert min(factors) < 1 == max(factors)


def test_a_sample_weight_is_refused():
    run = Run()
    weights = [np.ones(run.settings.batch_size)] * 2
    with pytest.raises(ValueError, match="takes no `sample_weight`"):
        run.trainer.train_on_batch(*run.window(), sample_weight=weights)


def test_a_callback_that_needs_a_built_model(tmp_path):
    run = Run()
    backup = keras.callbacks.BackupAndRestore(tmp_path / "backup")
    windows = (run.window() for _ in range(2))
    run.trainer.fit(
        windows, steps_per_epoch=1, callbacks=[backup], shuffle=False, verbose=0
    )
    assert run.trainer.optimizer.iterations == 1


@pytest.mark.exhaustive
def test_rows_start_from_zero_at_the_rate():
    options = {**OPTIONS, "dropout": 0.0, "n_negative_samples_batch": WORDS}
    settings = {"options": options, "batch_size": 64, "learning_rate": 1e-12}
    window = Run(**settings).window()

    def loss(rate, value=1.0):
        run = Run(reset_rate=rate, **settings)
        for variable in run.trainer.states:
            variable.assign(np.full(variable.shape, value))
        return run.step(window)

    from_zero, from_full = loss(0.0, value=0.0), loss(0.0)
    assert from_zero != pytest.approx(from_full, rel=1e-4)
    low, high = sorted([from_zero, from_full])
    assert low < loss(0.5) < high
    assert loss(1.0) == pytest.approx(from_zero, rel=1e-6)


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
