"""The layer inside models as users write them."""

from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest
from comparisons import assert_close
from comparisons import assert_equal
from conftest import ON_TENSORFLOW
from layer_checks import flat
from small_models import make_shallow_elmo

from keras_elmo import batch_to_ids

pytestmark = [ON_TENSORFLOW, pytest.mark.in_graphs(False)]
SENTENCES = [["A", "short", "one", "."], ["Two"], ["Three", "words", "."], []]
IDS = batch_to_ids(SENTENCES * 2, 12)


def round_trip(model, folder):
    model.save(folder / "model.keras")
    return keras.saving.load_model(folder / "model.keras")


def test_sequential_without_an_input(tmp_path):
    model = keras.Sequential([make_shallow_elmo(), keras.layers.Dense(3)])
    expected = model(IDS)
    cloned = keras.models.clone_model(model)
    cloned.set_weights(model.get_weights())
    for copied in (round_trip(model, tmp_path), cloned):
        assert_equal(copied(IDS), expected)


def test_the_state_in_and_out_of_a_model(tmp_path):
    encoder = make_shallow_elmo().encoder
    x = keras.Input((None, 6))
    state = [keras.Input((size,)) for size in (6, 7) * 2]
    model = keras.Model(
        [x, *state], encoder(x, initial_state=state, return_state=True)
    )
    generator = np.random.default_rng(0)
    shapes = [(2, 5, 6), *((2, size) for size in (6, 7) * 2)]
    x, *state = (generator.normal(size=s).astype("float32") for s in shapes)
    expected = flat(encoder(x, initial_state=state, return_state=True))
    for either in (model, round_trip(model, tmp_path)):
        for a, b in zip(flat(either([x, *state])), expected, strict=True):
            assert_close(a, b)


@pytest.mark.exhaustive
def test_eager_calls_from_many_threads_and_of_many_shapes():
    elmo = make_shallow_elmo()
    shapes = [(b, t) for b in (1, 2, 5) for t in (1, 2, 3, 4)]
    expected = {(b, t): elmo(IDS[:b, :t]) for b, t in shapes}
    with ThreadPoolExecutor(4) as pool:
        calls = [
            (shape, pool.submit(elmo, IDS[: shape[0], : shape[1]]))
            for shape in shapes * 4
        ]
    for shape, call in calls:
        assert_close(call.result(), expected[shape])


@pytest.mark.in_graphs(True)
@pytest.mark.exhaustive
def test_many_layers_do_not_make_tensorflow_warn_of_retracing(caplog):
    for _ in range(8):
        make_shallow_elmo()(IDS)
    assert "retracing" not in caplog.text
