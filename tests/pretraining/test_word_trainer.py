"""`WordTrainer` trains as `LanguageModelTrainer` does on the same words."""

import itertools

import keras
import numpy as np
import pytest
from comparisons import assert_close
from keras import ops
from pretraining.small_trainings import OPTIONS
from pretraining.small_trainings import make_settings
from pretraining.test_numbered_text import read
from tiers import quick_first

from keras_elmo import BidirectionalLanguageModel
from keras_elmo.ops.backends import backend
from keras_elmo.pretraining.language_model_trainer import LanguageModelTrainer
from keras_elmo.pretraining.model_files import make_language_model
from keras_elmo.pretraining.numbered_text import character_ids
from keras_elmo.pretraining.optimizers import make_optimizer
from keras_elmo.pretraining.text_windows import TextWindow
from keras_elmo.pretraining.text_windows import training_windows
from keras_elmo.pretraining.word_trainer import WindowBatches
from keras_elmo.pretraining.word_trainer import WordTrainer
from keras_elmo.text.vocabulary import Vocabulary

ROWS, STEPS = 4, 5
VOCABULARY = Vocabulary(
    [b"<S>", b"</S>", b"<UNK>", *(b"w%d" % i for i in range(60))]
)


@pytest.fixture(scope="module")
def text(corpus):
    return read(sorted(corpus.glob("shard-*")))[0]


def windows_of(text, number):
    windows = training_windows(text, ROWS, STEPS, 0)
    return list(itertools.islice(windows, number))


def targets_of(text):
    return VOCABULARY.ids(text.words)


@pytest.mark.parametrize("number, most", [(1, 1), (1, 3), (2, 3), (3, 3)])
def test_joined_windows(text, number, most):
    windows, targets = windows_of(text, number), targets_of(text)
    batches = WindowBatches(targets, most)
    for _ in range(2):  # What was joined before does not matter.
        (words, *places), found = batches.join(windows)
        assert words.shape == (64, most)
        for x in (*places, *found):
            assert x.shape == (ROWS, most * STEPS) and x.dtype == "int32"
        for i, window in enumerate(windows):
            columns = slice(i * STEPS, (i + 1) * STEPS)
            for d in range(2):
                read_words = words[places[d][:, columns], i]
                np.testing.assert_array_equal(read_words, window.inputs[d])
                expected = targets[window.targets[d]]
                np.testing.assert_array_equal(found[d][:, columns], expected)
            distinct = len(np.unique(window.inputs))
            assert len(np.unique(words[:, i])) - distinct in (0, 1)
            assert not words[distinct:, i].any()
        rest = np.array(found)[..., number * STEPS :]
        assert rest.size == 2 * ROWS * (most - number) * STEPS
        assert (rest == -1).all()
        windows = windows[::-1]


def test_words_are_padded_to_a_few_sizes():
    sizes = set()
    for number in range(1, 700):
        window = np.arange(2 * number).reshape(2, 1, number)
        batches = WindowBatches(np.arange(2 * number), 1)
        (words, *_), _ = batches.join([TextWindow(window, window)])
        assert 0 <= len(words) - 2 * number < max(64, 2 * number / 4)
        sizes.add(len(words))
    assert len(sizes) == 14


def make(cls, *args, **settings):
    """Returns a trainer with the same values each time."""
    settings = make_settings(learning_rate=0.1, **settings)
    keras.utils.set_random_seed(1)
    model = make_language_model(
        BidirectionalLanguageModel, OPTIONS, len(VOCABULARY), settings.dtype
    )
    generator = np.random.default_rng(1)
    for variable in model.trainable_variables:
        variable.assign(generator.normal(0, 0.5, variable.shape))
    trainer = cls(model, *args, ROWS, 0.2, 3)
    is_compiled = backend().compiles_each_shape
    trainer.compile(make_optimizer(settings, 100), jit_compile=is_compiled)
    return trainer


@pytest.mark.parametrize(
    "dtype, rtol", quick_first([("float32", 1e-5), ("mixed_bfloat16", 0.1)])
)
def test_steps_are_those_on_characters(text, dtype, rtol):
    windows = windows_of(text, 5)
    trainer = make(LanguageModelTrainer, dtype=dtype)
    indexer = trainer.language_model.token_encoder.indexer
    characters = character_ids(text.words, indexer).astype("int32")
    expected = []
    for window in windows:
        logs = trainer.train_on_batch(
            tuple(characters[window.inputs]),
            tuple(targets_of(text)[window.targets]),
            return_dict=True,
        )
        expected.append(float(logs["window_loss"]))
    assert len({*expected}) == 5
    most = 3 if backend().compiles_each_shape else 1
    other = make(WordTrainer, text.words, dtype=dtype)
    batches = WindowBatches(targets_of(text), most)
    found = []
    for i in range(0, 5, most):
        joined = windows[i : i + most]
        batch = batches.join(joined)
        logs = other.train_on_batch(*batch, return_dict=True)
        losses = np.reshape(ops.convert_to_numpy(logs["window_loss"]), -1)
        found += losses[: len(joined)].tolist()
    np.testing.assert_allclose(found, expected, rtol=rtol)
    for one, two in zip(
        [*trainer.trainable_variables, *trainer.states],
        [*other.trainable_variables, *other.states],
        strict=True,
    ):
        one, two = ops.cast(one, "float32"), ops.cast(two, "float32")
        assert_close(one, two, rtol=rtol, atol=rtol)
