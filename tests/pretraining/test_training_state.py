import dataclasses

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
from keras_elmo.pretraining.training_state import TrainingProgress
from keras_elmo.pretraining.training_state import read_training_state
from keras_elmo.pretraining.training_state import write_training_state

PROGRESS = TrainingProgress(17, 2**40, [0.1, 1 / 3], best=np.inf, best_step=9)
SCHEDULE = {"learning_rate_schedule": "linear"}


def make_model(**settings):
    """Returns a new trainer, with its optimizer."""
    settings = make_settings(**settings)

    def make():
        return make_language_model(
            BidirectionalLanguageModel, OPTIONS, 30, settings.dtype
        )

    return make_trainer(make, settings, settings.batch_size, total_steps=10)


def variables_of(model):
    return [*model.variables, *model.optimizer.variables]


def fill(model, seed=0):
    generator = np.random.default_rng(seed)
    for variable in variables_of(model):
        values = generator.uniform(1, 1000, variable.shape)
        variable.assign(values.astype(variable.dtype))


def check_equal(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(
            ops.convert_to_numpy(one), ops.convert_to_numpy(other)
        )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.hdf5"


@pytest.mark.parametrize(
    "settings",
    [{}, {"optimizer": "adam", "dtype": "mixed_bfloat16", **SCHEDULE}],
)
def test_all_is_read_as_it_was_written(path, settings):
    first, second = make_model(**settings), make_model(**settings)
    fill(first)
    # An attribute of HDF5 could not have so many losses.
    losses = [i / 7 for i in range(50_000)]
    progress = dataclasses.replace(PROGRESS, losses=losses)
    write_training_state(path, first, progress)
    assert read_training_state(path, second) == progress
    if not settings:
        # The rate is a setting, which may differ, so it is not restored.
        assert float(second.optimizer.learning_rate) == pytest.approx(0.2)
        first.optimizer.learning_rate.assign(0.2)
    check_equal(variables_of(second), variables_of(first))


def test_a_constant_rate_may_become_a_schedule(path):
    first, second = make_model(), make_model(**SCHEDULE)
    fill(first)
    write_training_state(path, first, PROGRESS)
    read_training_state(path, second)
    check_equal(variables_of(second)[-3:], variables_of(first)[-3:])
    write_training_state(path, second, PROGRESS)
    read_training_state(path, first)


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """A trainer, and the content of the file of its state."""
    model = make_model()
    path = tmp_path_factory.mktemp("state") / "state.hdf5"
    write_training_state(path, model, PROGRESS)
    return model, path.read_bytes()


@given(data=st.data())
def test_damage_is_told_with_the_name_of_the_file(data, state, path):
    model, content = state
    path.write_bytes(data.draw(damaged(content)))
    before = list(map(ops.convert_to_numpy, variables_of(model)))
    found = reads_or_says_why(
        lambda: read_training_state(path, model), str(path)
    )
    if found is None:
        check_equal(map(ops.convert_to_numpy, variables_of(model)), before)


@pytest.mark.parametrize(
    "stored, settings, told",
    [
        ({"progress": 0}, {}, "cannot be read as a checkpoint"),
        ({"model/0": np.zeros((260, 4))}, {}, r"\(261, 4\). Rec.* \(260, 4\)"),
        ({"optimizer/99": 0}, {}, "'optimizer/99' of .* None. Received: ()"),
        ({}, {"optimizer": "adam"}, r"'optimizer/\d+' of the checkpoint"),
    ],
)
def test_a_state_that_does_not_fit_changes_nothing(
    path, state, stored, settings, told
):
    path.write_bytes(state[1])
    with h5py.File(path, "r+") as store:
        for key, value in stored.items():
            store.pop(key, None)
            store[key] = value
    model = make_model(**settings)
    fill(model, seed=1)
    before = list(map(ops.convert_to_numpy, variables_of(model)))
    with pytest.raises(ValueError, match=told):
        read_training_state(path, model)
    check_equal(map(ops.convert_to_numpy, variables_of(model)), before)
