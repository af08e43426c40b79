import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops
from keras.random import SeedGenerator
from pretraining.small_trainings import OPTIONS
from pretraining.small_trainings import make_settings
from tiers import quick_first

from keras_elmo import BidirectionalLanguageModel
from keras_elmo.pretraining import LanguageModelTrainer
from keras_elmo.pretraining.model_files import make_language_model
from keras_elmo.pretraining.optimizers import make_optimizer

WORDS = 20


class Run:
    """A trainer, and steps on random windows."""

    def __init__(self, **settings):
        self.settings = make_settings(**settings)
        self.model = make_language_model(
            BidirectionalLanguageModel,
            self.settings.options,
            WORDS,
            self.settings.dtype,
        )
        self.trainer = LanguageModelTrainer(
            self.model, self.settings.batch_size, self.settings.reset_rate, 0
        )
        self.trainer.compile(make_optimizer(self.settings, 100))
        generator = np.random.default_rng(1)
        for variable in self.model.trainable_variables:
            variable.assign(generator.normal(0, 0.5, variable.shape))
        self.generator = np.random.default_rng(0)

    def window(self):
        """Returns inputs and targets with few words, so that many repeat."""
        shape = (2, self.settings.batch_size, self.settings.unroll_steps)
        low, high = 1, 6
        token_shape = self.model.token_encoder.token_shape
        inputs = self.generator.integers(low, high, (*shape, *token_shape))
        targets = self.generator.integers(low, high, shape)
        return [tuple(x.astype("int32")) for x in (inputs, targets)]

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
        inputs, targets = window
        seed = SeedGenerator(0)
        seed.state.assign(self.trainer._draws.state)
        state = [variable.value for variable in self.trainer.states]
        hidden, state = self.model.predict_hidden(inputs, state, seed)
        losses = self.model.sampled_losses_of(hidden, targets, seed)
        # The mean of the means of both directions.
        return tf.reduce_mean(tf.stack(losses)), state

    def gradients(self, window):
        """Float64 gradients of the loss summed over a row; and sparse ones."""
        with tf.GradientTape() as tape:
            loss, _ = self.loss(window)
        variables = [v.value for v in self.model.trainable_variables]
        found = tape.gradient(loss, variables)
        sparse = [g for g in found if isinstance(g, tf.IndexedSlices)]
        steps = self.settings.unroll_steps
        dense = [tf.convert_to_tensor(g).numpy() * float(steps) for g in found]
        return [g.astype("float64") for g in dense], sparse


def has_a_row_twice(sparse):
    rows = sparse.indices.numpy()
    return len(np.unique(rows)) < len(rows)


class NumPyAdagrad:
    """bilm-tf's update: gradients clipped by global norm, then Adagrad."""

    def __init__(self, weights, rate=0.2, clip_norm=10.0):
        self.weights = [w.astype("float64") for w in weights]
        self.sums = [np.ones_like(w) for w in self.weights]
        self.rate = rate
        self.clip_norm = clip_norm

    def update(self, gradients):
        """Returns the factor by which the gradients were clipped."""
        norm = np.sqrt(sum((g**2).sum() for g in gradients))
        factor = min(1.0, self.clip_norm / norm)
        for weight, total, gradient in zip(self.weights, self.sums, gradients):
            total += (factor * gradient) ** 2
            weight -= self.rate * factor * gradient / np.sqrt(total)
        return factor


def check_close(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("clip_norm", quick_first([1.0, 1e9]))
def test_steps_are_bilm_tfs(clip_norm):
    run = Run(clip_norm=clip_norm)
    oracle = NumPyAdagrad(run.weights(), clip_norm=clip_norm)
    factors = []
    for _ in range(3):
        window = run.window()
        gradients, sparse = run.gradients(window)
        # Keras' optimizers would not add up what is there for the same row.
        assert sparse and not any(map(has_a_row_twice, sparse))
        loss, state = run.loss(window)
        assert any(np.abs(x).max() > 0.01 for x in state)
        factors.append(oracle.update(gradients))
        assert run.step(window) == pytest.approx(float(loss), rel=1e-6)
        check_close(run.weights(), oracle.weights)
        # The next window continues from this state.
        check_close(run.state(), state)
    if clip_norm == 1e9:
        assert factors == [1, 1, 1]
    else:
        assert max(factors) < 1


def test_evaluate_is_exact_and_changes_nothing():
    run = Run()
    run.step()
    window = run.window()
    state, hidden = run.state(), run.model.predict_hidden(window[0])[0]
    expected = np.mean(run.model.losses_of(hidden, window[1]))
    found = run.trainer.test_on_batch(*window, return_dict=True)
    assert found["window_loss"] == pytest.approx(expected, rel=1e-6)
    for one, other in zip(run.state(), state, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_sample_weight_is_refused():
    run = Run()
    window, weight = run.window(), np.ones(run.settings.batch_size)
    for method in (run.trainer.train_on_batch, run.trainer.test_on_batch):
        with pytest.raises(ValueError, match="takes no `sample_weight`"):
            method(*window, sample_weight=(weight, weight))


def test_a_callback_that_needs_a_built_model(tmp_path):
    run = Run()
    trainer = LanguageModelTrainer(
        make_language_model(BidirectionalLanguageModel, OPTIONS, WORDS),
        run.settings.batch_size,
    )
    trainer.compile("sgd")
    windows = (tuple(run.window()) for _ in range(2))
    backup = keras.callbacks.BackupAndRestore(tmp_path / "backup")
    options = {"steps_per_epoch": 2, "shuffle": False, "verbose": 0}
    trainer.fit(windows, callbacks=[backup], **options)


@pytest.mark.parametrize("rate", [0.5, 1.0])
@pytest.mark.exhaustive
def test_rows_start_from_zero_at_the_rate(rate):
    options = {**OPTIONS, "dropout": 0.0, "n_negative_samples_batch": WORDS}
    settings = {"options": options, "batch_size": 64}
    run = Run(learning_rate=1e-12, reset_rate=rate, **settings)
    as_it_was = Run(learning_rate=1e-12, **settings)
    window = run.window()

    def loss(run, value):
        for variable in run.trainer.states:
            variable.assign(np.full(variable.shape, value))
        return run.step(window)

    from_zero, from_full = loss(as_it_was, 0.0), loss(as_it_was, 1.0)
    assert from_zero != pytest.approx(from_full, rel=1e-4)
    if rate == 0.5:
        low, high = sorted([from_zero, from_full])
        assert low < loss(run, 1.0) < high
    else:
        np.testing.assert_allclose(loss(run, 1.0), from_zero, rtol=1e-6)


@pytest.mark.exhaustive
def test_half_precision():
    run = Run(dtype="mixed_bfloat16", optimizer="adam")
    before = run.weights()
    losses = [run.step() for _ in range(3)]
    assert all(np.isfinite(losses))
    assert {v.dtype for v in run.trainer.states} == {"bfloat16", "float32"}
    for weight, old in zip(run.weights(), before):
        assert weight.dtype == "float32"
        assert (weight != old).any()


def rates(total, updates=None, **settings):
    """Returns the learning rate of each step from the optimizer."""
    settings = make_settings(**settings)
    optimizer = make_optimizer(settings, total)
    found = []
    for step in range(updates or total):
        optimizer._iterations.assign(step)
        found.append(float(optimizer.learning_rate))
    return found


def test_learning_rates():
    assert rates(3, learning_rate=1) == [1.0] * 3
    warm = rates(6, learning_rate=0.8, warmup_steps=4)
    np.testing.assert_allclose(warm, [0, 0.2, 0.4, 0.6, 0.8, 0.8], 1e-6)
    linear = rates(
        4, updates=6, learning_rate=2, learning_rate_schedule="linear"
    )
    expected = [2, 1.5, 1, 0.5, 0, 0]
    np.testing.assert_allclose(linear, expected, atol=1e-6)
    both = rates(
        6, 7, learning_rate=2.0, learning_rate_schedule="linear", warmup_steps=2
    )
    expected = [0, 1, *expected[:5]]
    np.testing.assert_allclose(both, expected, atol=1e-6)


def test_optimizers():
    adagrad = make_optimizer(make_settings(), 10)
    assert adagrad.initial_accumulator_value == 1.0
    assert adagrad.epsilon == 0.0
    assert adagrad.global_clipnorm is None  # It clips sparse gradients.
    adam = make_optimizer(make_settings(optimizer="adam"), 10)
    assert isinstance(adam, keras.optimizers.Adam)


def test_fused_adam_is_keras_adam():
    rows = [[1, 7, 9], [0, 7, 11], [3, 2, 1]]
    generator = np.random.default_rng(0)
    gradients = [
        [
            generator.normal(size=shape).astype("float32")
            for shape in ((3, 4), 5)
        ]
        for _ in rows
    ]

    def train(optimizer):
        table, bias = (
            keras.Variable(np.ones((12, 4), "float32")),
            keras.Variable([0.0] * 5),
        )
        optimizer.build([table, bias])
        for indices, (of_rows, of_bias) in zip(rows, gradients):
            sparse = tf.IndexedSlices(of_rows, indices, (12, 4))
            optimizer.apply([sparse, tf.constant(of_bias)])
        variables = [table, bias, *optimizer.variables]
        return [ops.convert_to_numpy(v) for v in variables]

    settings = make_settings(optimizer="adam", learning_rate=0.1)
    fused = make_optimizer(settings, 10)
    plain = keras.optimizers.Adam(0.1)
    for found, expected in zip(train(fused), train(plain), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
