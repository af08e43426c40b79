import os

import h5py
import numpy as np
import pytest
from full_disk import no_file_over
from fuzzing import damaged
from fuzzing import reads_or_says_why
from hypothesis import given
from hypothesis import strategies as st
from keras import ops
from pretraining.small_trainings import OPTIONS
from pretraining.small_trainings import make_settings

from keras_elmo.pretraining.model_files import make_language_model
from keras_elmo.pretraining.optimizers import make_optimizer
from keras_elmo.pretraining.training_state import Progress
from keras_elmo.pretraining.training_state import read_training_state
from keras_elmo.pretraining.training_state import write_training_state

WORDS = 30


def make_model(**settings):
    """Returns a new model and its optimizer."""
    settings = make_settings(**settings)
    model = make_language_model(OPTIONS, WORDS, settings.dtype)
    optimizer = make_optimizer(settings, total_steps=10)
    optimizer.build(model.trainable_variables)
    return model, optimizer


def fill(model, optimizer, seed=0):
    generator = np.random.default_rng(seed)
    for variable in (*model.trainable_variables, *optimizer.variables):
        values = generator.uniform(1, 1000, variable.shape)
        variable.assign(values.astype(variable.dtype))


def values_of(model, optimizer):
    variables = (*model.trainable_variables, *optimizer.variables)
    return [ops.convert_to_numpy(variable) for variable in variables]


def make_state():
    """Returns the LSTM state and the progress of a training."""
    generator = np.random.default_rng(3)
    lstm_state = [
        generator.normal(size=(4, n)).astype("float32") for n in (8, 4, 8)
    ]
    progress = Progress(
        step=17,
        positions=[[[0, 3, 2], None, [0, 3, 1, 7]], [[1, 0, 0]]],
        log_size=2**40,
        losses=[0.1, 1 / 3],
        best=np.inf,
    )
    return lstm_state, progress


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
        {"optimizer": "adam", "schedule": "cosine", "warmup_steps": 3},
        {"accumulation_steps": 2, "dtype": "mixed_bfloat16"},
    ],
)
def test_all_is_read_as_it_was_written(path, settings):
    first = make_model(**settings)
    fill(*first)
    # A second model in the same process, as its name shows.
    second = make_model(**settings)
    assert first[0].name != second[0].name
    lstm_state, progress = make_state()
    write_training_state(path, *first, lstm_state, progress)
    rate = second[1].learning_rate if "schedule" not in settings else None
    rate = None if rate is None else float(rate)
    found_state, found = read_training_state(path, *second)
    assert found == progress
    check_equal(found_state, lstm_state)
    if rate is not None:
        # The rate is a setting, which may differ, so it is not restored.
        assert float(second[1].learning_rate) == rate
        assert float(first[1].learning_rate) > 1
        first[1].learning_rate.assign(rate)
    check_equal(values_of(*second), values_of(*first))


def test_a_constant_rate_may_become_a_schedule(path):
    first, second = make_model(), make_model(schedule="cosine")
    fill(*first)
    write_training_state(path, *first, *make_state())
    read_training_state(path, *second)
    check_equal(values_of(second[0], second[1])[-3:], values_of(*first)[-3:])
    assert int(second[1].iterations) == int(first[1].iterations) > 0
    write_training_state(path, *second, *make_state())
    read_training_state(path, *first)


def test_progress_may_be_long(path):
    model = make_model()
    lstm_state, progress = make_state()
    progress.losses = [i / 7 for i in range(50_000)]
    write_training_state(path, *model, lstm_state, progress)
    assert read_training_state(path, *model)[1] == progress


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["model", "optimizer", "lstm_state"])
def test_what_is_not_finite_is_not_written(path, where, value):
    model, optimizer = make_model()
    write_training_state(path, model, optimizer, *make_state())
    before = path.read_bytes()
    lstm_state, progress = make_state()
    if where == "lstm_state":
        lstm_state[1][2, 3] = value
        key = "lstm_state/1"
    else:
        variables = {
            "model": model.trainable_variables,
            "optimizer": optimizer.variables,
        }[where]
        array = np.array(variables[-1])
        array.flat[-1] = value
        variables[-1].assign(array)
        key = f"{where}/"
    with pytest.raises(ValueError, match="an infinity or a NaN in") as info:
        write_training_state(path, model, optimizer, lstm_state, progress)
    assert f"'{key}" in str(info.value)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """A model, its optimizer, and the file of their state."""
    model = make_model()
    path = tmp_path_factory.mktemp("state") / "state.hdf5"
    write_training_state(path, *model, *make_state())
    return model, path


@given(data=st.data())
def test_damage_is_told_with_the_name_of_the_file(data, state):
    model, whole = state
    path = whole.with_name("damaged.hdf5")
    path.write_bytes(data.draw(damaged(whole.read_bytes())))
    before = values_of(*model)
    found = reads_or_says_why(
        lambda: read_training_state(path, *model), str(path)
    )
    if found is None:
        check_equal(values_of(*model), before)


@pytest.mark.parametrize("limit", [3000, 20_000])
def test_a_full_disk_leaves_the_old_one(path, limit):
    model = make_model()
    write_training_state(path, *model, *make_state())
    before = path.read_bytes()
    assert len(before) > limit
    fill(*model)
    with no_file_over(limit), pytest.raises(OSError, match="File too large"):
        write_training_state(path, *model, *make_state())
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def check_refused(path, model, match):
    """Checks that a state that does not fit is rejected without changes."""
    fill(*model, seed=1)
    before = values_of(*model)
    with pytest.raises(ValueError, match=match) as info:
        read_training_state(path, *model)
    assert f"'{path}'" in str(info.value)
    check_equal(values_of(*model), before)


def test_a_damaged_file_is_told(path):
    model = make_model()
    write_training_state(path, *model, *make_state())
    content = path.read_bytes()
    for size in (0, 7, 500, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:size])
        check_refused(path, model, "cannot be read as a checkpoint")
    path.write_text("no HDF5")
    check_refused(path, model, "cannot be read as a checkpoint")


def test_another_file_is_told(path):
    with h5py.File(path, "w") as store:
        store["softmax"] = np.zeros(3)
    check_refused(path, make_model(), "cannot be read as a checkpoint")


def test_a_state_that_lies_elsewhere_is_told(path):
    model = make_model()
    write_training_state(path, *model, *make_state())
    with h5py.File(path, "r+") as store:
        del store["progress"]
        store["progress"] = h5py.SoftLink("/lstm_state")
    check_refused(path, model, "'progress' is a link to another place")
    path.unlink()
    os.mkfifo(path)
    check_refused(path, model, "it is not a regular file")


def test_another_optimizers_state_is_told(path):
    write_training_state(path, *make_model(), *make_state())
    model = make_model(optimizer="adam")
    check_refused(path, model, "cannot be read as a checkpoint")


def test_another_models_state_is_told(path):
    model = make_model()
    write_training_state(path, *model, *make_state())
    with h5py.File(path, "r+") as store:
        del store["model/0_embeddings"]
        store["model/0_embeddings"] = np.zeros((260, 4), "float32")
    check_refused(path, model, r"shape \(261, 4\). Received: \(260, 4\)")
