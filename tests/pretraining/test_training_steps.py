"""Steps of `LanguageModelTrainer`, on each backend."""

import itertools

import keras
import numpy as np
import pytest
from comparisons import assert_close
from conftest import ON_TENSORFLOW
from keras import ops
from keras.random import SeedGenerator
from pretraining.small_trainings import OPTIONS
from pretraining.small_trainings import make_settings
from pretraining.test_numbered_text import read
from tiers import quick_first

from keras_elmo import BidirectionalLanguageModel
from keras_elmo.ops.backends import backend
from keras_elmo.pretraining import LanguageModelTrainer
from keras_elmo.pretraining.model_files import make_language_model
from keras_elmo.pretraining.optimizers import make_optimizer
from keras_elmo.pretraining.text_windows import training_windows
from keras_elmo.pretraining.window_batches import WindowBatches
from keras_elmo.text.byte_indexer import ByteIndexer
from keras_elmo.text.vocabulary import Vocabulary

ROWS, STEPS, CHARACTERS = 4, 5, 8
VOCABULARY = Vocabulary(
    [b"<S>", b"</S>", b"<UNK>", *(b"w%d" % i for i in range(60))]
)


@pytest.fixture(scope="module")
def batches(corpus):
    """A function that joins windows, and five of them."""
    text = read(sorted(corpus.glob("shard-*")))[0]
    windows = training_windows(text, ROWS, STEPS, 0)
    batches = WindowBatches(text.words, ByteIndexer(CHARACTERS), VOCABULARY)
    return batches.join, list(itertools.islice(windows, 5))


def ids_of(inputs):
    """Returns the ids of all words of a batch, (2, rows, steps, characters)."""
    ids, *indices = inputs
    return ids[np.array(indices)].astype("int32")


def make(reset_rate=0.2, **settings):
    """Returns a trainer with the same values each time."""
    settings = make_settings(
        **{"batch_size": ROWS, "learning_rate": 0.1, **settings}
    )
    keras.utils.set_random_seed(1)
    model = make_language_model(
        BidirectionalLanguageModel,
        settings.options,
        len(VOCABULARY),
        settings.dtype,
    )
    generator = np.random.default_rng(1)
    for variable in model.trainable_variables:
        variable.assign(generator.normal(0, 0.5, variable.shape))
    trainer = LanguageModelTrainer(
        model, settings.batch_size, reset_rate=reset_rate, seed=3
    )
    is_compiled = backend().compiles_each_shape
    trainer.compile(make_optimizer(settings, 100), jit_compile=is_compiled)
    return trainer


def train_on(trainer, batch, number=1):
    """Makes some steps; returns their losses."""
    logs = trainer.train_on_batch(*batch, return_dict=True)
    losses = np.reshape(ops.convert_to_numpy(logs["window_loss"]), -1)
    return losses[:number].tolist()


@pytest.mark.parametrize(
    "dtype, rtol", quick_first([("float32", 1e-5), ("mixed_bfloat16", 0.1)])
)
def test_how_words_are_encoded_and_joined_does_not_matter(batches, dtype, rtol):
    join, windows = batches
    trainer, expected = make(dtype=dtype), []
    for window in windows:
        inputs, targets = join([window])
        # Each word at each place is encoded on its own.
        ids = ids_of(inputs).reshape(-1, CHARACTERS)
        places = np.arange(len(ids), dtype="int32").reshape(2, ROWS, STEPS)
        expected += train_on(trainer, ((ids, *places), targets))
    assert len({*expected}) == 5
    # Only on JAX, a call has several windows.
    most = 3 if backend().compiles_each_shape else 1
    other, found = make(dtype=dtype), []
    for i in range(0, 5, most):
        joined = windows[i : i + most]
        found += train_on(other, join(joined, most), len(joined))
    np.testing.assert_allclose(found, expected, rtol=rtol)
    for one, two in zip(
        [*trainer.trainable_variables, *trainer.states],
        [*other.trainable_variables, *other.states],
        strict=True,
    ):
        one, two = ops.cast(one, "float32"), ops.cast(two, "float32")
        assert_close(one, two, rtol=rtol, atol=rtol)


def loss_of(model, batch, state):
    """Returns the exact loss of a batch and the next state."""
    ids, targets = keras.tree.map_structure(
        ops.convert_to_tensor, ([*ids_of(batch[0])], [*batch[1]])
    )
    hidden, state = model._predict_hidden(ids, state)
    losses = map(ops.convert_to_numpy, model._losses_of(hidden, targets))
    return np.mean([*losses]), state


def test_losses_are_those_of_the_model(batches):
    join, windows = batches
    # Nothing is random, as each word is drawn once, and nothing is learned.
    sizes = {"dropout": 0.0, "n_negative_samples_batch": len(VOCABULARY)}
    settings = {"options": {**OPTIONS, **sizes}, "learning_rate": 1e-30}
    trainer = make(reset_rate=0.0, **settings)
    model = trainer.language_model
    state = model.get_initial_state(ROWS)
    for batch in map(join, ([window] for window in windows[:2])):
        expected, state = loss_of(model, batch, state)
        assert train_on(trainer, batch) == [pytest.approx(expected, rel=1e-5)]
    # To evaluate, the state starts from zero, and nothing changes.
    expected, _ = loss_of(model, batch, None)
    found = trainer.test_on_batch(*batch, return_dict=True)
    assert found["window_loss"] == pytest.approx(expected, rel=1e-5)
    for variable, value in zip(trainer.states, state, strict=True):
        assert_close(variable, value, rtol=1e-5, atol=1e-6)
    ids = ids_of(batch[0])
    with pytest.raises(ValueError, match=r"must be three .*: 2 tensors"):
        trainer([*ids])


def values_of(variables):
    return [ops.convert_to_numpy(variable) for variable in variables]


def next_of(trainer, batch):
    """Returns the loss of a step, its gradients and the next state.

    The gradients are those of the loss summed over the steps of a window.
    """
    import tensorflow as tf

    model, seed = trainer.language_model, SeedGenerator(0)
    seed.state.assign(trainer._draws.state)
    state = [variable.value for variable in trainer.states]
    with tf.GradientTape() as tape:
        hidden, state = model._predict_hidden([*ids_of(batch[0])], state, seed)
        losses = model._sampled_losses_of(hidden, batch[1], seed)
        # The mean of the means of both directions.
        loss = tf.reduce_mean(tf.stack(losses))
    variables = [v.value for v in model.trainable_variables]
    gradients = tape.gradient(loss, variables)
    # Those of the softmax, in which words repeat.
    assert sum(isinstance(g, tf.IndexedSlices) for g in gradients) == 2
    dense = [tf.convert_to_tensor(g).numpy() for g in gradients]
    return float(loss), [STEPS * g.astype("float64") for g in dense], state


@ON_TENSORFLOW
def test_steps_are_bilm_tfs(batches):
    join, windows = batches
    trainer = make(reset_rate=0.0, learning_rate=0.2, clip_norm=4.0)
    variables = trainer.trainable_variables
    weights = [x.astype("float64") for x in values_of(variables)]
    sums, factors = [np.ones_like(weight) for weight in weights], []
    for window in windows[:3]:
        batch = join([window])
        loss, gradients, state = next_of(trainer, batch)
        assert train_on(trainer, batch) == [pytest.approx(loss, rel=1e-6)]
        # Gradients are clipped by their global norm, then Adagrad.
        norm = np.sqrt(sum((g**2).sum() for g in gradients))
        factors.append(min(1.0, 4.0 / norm))
        for weight, total, gradient in zip(weights, sums, gradients):
            total += (factors[-1] * gradient) ** 2
            weight -= 0.2 * factors[-1] * gradient / np.sqrt(total)
        # The next window continues from this state.
        for found, expected in zip(
            values_of([*variables, *trainer.states]),
            [*weights, *state],
            strict=True,
        ):
            np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)
    assert min(factors) < 1 == max(factors)


def test_a_sample_weight_is_refused(batches):
    join, windows = batches
    weights = [np.ones(ROWS)] * 2
    with pytest.raises(ValueError, match="takes no `sample_weight`"):
        make().train_on_batch(*join(windows[:1]), sample_weight=weights)


def test_a_callback_that_needs_a_built_model(batches, tmp_path):
    join, windows = batches
    backup = keras.callbacks.BackupAndRestore(tmp_path / "backup")
    trainer, each = make(), (join([window]) for window in windows[:2])
    trainer.fit(
        each, steps_per_epoch=1, callbacks=[backup], shuffle=False, verbose=0
    )
    assert trainer.optimizer.iterations == 1


@pytest.mark.exhaustive
def test_rows_start_from_zero_at_the_rate(batches):
    join, windows = batches
    (ids, *indices), targets = join(windows[:1])
    # Of many rows, some start from zero, but not all.
    indices, targets = (
        [np.tile(x, (16, 1)) for x in y] for y in (indices, targets)
    )
    sizes = {"dropout": 0.0, "n_negative_samples_batch": len(VOCABULARY)}
    settings = {"options": {**OPTIONS, **sizes}, "batch_size": 16 * ROWS}

    def loss(rate, value=1.0):
        trainer = make(rate, learning_rate=1e-12, **settings)
        for variable in trainer.states:
            variable.assign(np.full(variable.shape, value))
        return train_on(trainer, ((ids, *indices), (*targets,)))[0]

    from_zero, from_full = loss(0.0, value=0.0), loss(0.0)
    assert from_zero != pytest.approx(from_full, rel=1e-4)
    low, high = sorted([from_zero, from_full])
    assert low < loss(0.5) < high
    assert loss(1.0) == pytest.approx(from_zero, rel=1e-6)
