import os

import h5py
import numpy as np
import pytest
from fuzzing import damaged
from fuzzing import reads_or_says_why
from hypothesis import given
from hypothesis import strategies as st
from keras import ops
from pretraining.small_trainings import OPTIONS
from pretraining.small_trainings import make_settings

from keras_elmo import BidirectionalLanguageModel
from keras_elmo.pretraining.model_files import make_language_model
from keras_elmo.pretraining.training import make_trainer
from keras_elmo.pretraining.training_state import Progress
from keras_elmo.pretraining.training_state import read_training_state
from keras_elmo.pretraining.training_state import write_training_state

WORDS = 30


def make_model(**settings):
    """Returns a new trainer, with its optimizer."""
    settings = make_settings(**settings)

    def make():
        return make_language_model(
            BidirectionalLanguageModel, OPTIONS, WORDS, settings.dtype
        )

    return make_trainer(
        make, [b"a"] * 7, settings, settings.batch_size, total_steps=10
    )


def variables_of(model):
    # The words are those of the text, and not part of the state.
    found = [*model.variables, *model.optimizer.variables]
    return [v for v in found if v is not model.characters]


def fill(model, seed=0):
    generator = np.random.default_rng(seed)
    for variable in variables_of(model):
        values = generator.uniform(1, 1000, variable.shape)
        variable.assign(values.astype(variable.dtype))


def values_of(model):
    return [ops.convert_to_numpy(v) for v in variables_of(model)]


def make_progress():
    """Returns the progress of a training."""
    return Progress(
        step=17,
        log_size=2**40,
        losses=[0.1, 1 / 3],
        best=np.inf,
        best_step=9,
    )


def check_equal(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.hdf5"


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {
            "optimizer": "adam",
            "learning_rate_schedule": "linear",
            "warmup_steps": 3,
        },
        {"dtype": "mixed_bfloat16"},
    ],
)
def test_all_is_read_as_it_was_written(path, settings):
    first, second = make_model(**settings), make_model(**settings)
    fill(first)
    write_training_state(path, first, make_progress())
    has_rate = "learning_rate_schedule" not in settings
    rate = float(second.optimizer.learning_rate) if has_rate else None
    assert read_training_state(path, second) == make_progress()
    if has_rate:
        # The rate is a setting, which may differ, so it is not restored.
        assert float(second.optimizer.learning_rate) == rate
        assert float(first.optimizer.learning_rate) > 1
        first.optimizer.learning_rate.assign(rate)
    check_equal(values_of(second), values_of(first))


def test_a_constant_rate_may_become_a_schedule(path):
    first, second = make_model(), make_model(learning_rate_schedule="linear")
    fill(first)
    write_training_state(path, first, make_progress())
    read_training_state(path, second)
    check_equal(values_of(second)[-3:], values_of(first)[-3:])
    assert int(second.optimizer.iterations) > 0
    write_training_state(path, second, make_progress())
    read_training_state(path, first)


def test_progress_may_be_long(path):
    model, progress = make_model(), make_progress()
    progress.losses = [i / 7 for i in range(50_000)]
    write_training_state(path, model, progress)
    assert read_training_state(path, model) == progress


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """A trainer, and the file of its state."""
    model = make_model()
    path = tmp_path_factory.mktemp("state") / "state.hdf5"
    write_training_state(path, model, make_progress())
    return model, path


@given(data=st.data())
def test_damage_is_told_with_the_name_of_the_file(data, state):
    model, whole = state
    path = whole.with_name("damaged.hdf5")
    path.write_bytes(data.draw(damaged(whole.read_bytes())))
    before = values_of(model)
    found = reads_or_says_why(
        lambda: read_training_state(path, model), str(path)
    )
    if found is None:
        check_equal(values_of(model), before)


def check_refused(path, model, match):
    """Checks that a state that does not fit is rejected without changes."""
    fill(model, seed=1)
    before = values_of(model)
    with pytest.raises(ValueError, match=match) as info:
        read_training_state(path, model)
    assert f"'{path}'" in str(info.value)
    check_equal(values_of(model), before)


def test_another_file_is_told(path):
    with h5py.File(path, "w") as store:
        store["softmax"] = np.zeros(3)
    check_refused(path, make_model(), "cannot be read as a checkpoint")


def test_a_state_that_lies_elsewhere_is_told(path):
    model = make_model()
    write_training_state(path, model, make_progress())
    with h5py.File(path, "r+") as store:
        del store["progress"]
        store["progress"] = h5py.SoftLink("/state")
    check_refused(path, model, "'progress' is a link to another place")
    path.unlink()
    os.mkfifo(path)
    check_refused(path, model, "it is not a regular file")


def test_another_optimizers_state_is_told(path):
    write_training_state(path, make_model(), make_progress())
    model = make_model(optimizer="adam")
    check_refused(path, model, r"'optimizer/\d+' of the checkpoint")
    write_training_state(path, model, make_progress())
    check_refused(path, make_model(), r"'optimizer/\d+' of the checkpoint")


def test_another_models_state_is_told(path):
    model = make_model()
    write_training_state(path, model, make_progress())
    with h5py.File(path, "r+") as store:
        del store["model/0"]
        store["model/0"] = np.zeros((260, 4), "float32")
    check_refused(path, model, r"shape \(261, 4\). Received: \(260, 4\)")
