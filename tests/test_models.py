"""The layer inside models as users write them."""

import pickle
import threading

import keras
import numpy as np
import pytest
from comparisons import assert_close
from comparisons import assert_equal
from keras import ops
from layer_checks import flat
from small_models import make_shallow_elmo

from keras_elmo import batch_to_ids

pytestmark = [
    pytest.mark.in_graphs(False),
    pytest.mark.skipif(
        keras.backend.backend() != "tensorflow", reason="One backend shows it."
    ),
]
SENTENCES = [["A", "short", "one", "."], ["Two"], ["Three", "words", "."], []]
IDS = batch_to_ids(SENTENCES * 2, 12)[:7]  # an odd last batch of 3
TARGETS = np.zeros((7, 4), "int32")


def classify(x, num_tags=3):
    return keras.layers.Dense(num_tags, activation="softmax")(x)


def compile_and_fit(model, x=IDS[:4], y=TARGETS[:4], **kwargs):
    # Keras traces the first step of Adam twice, because it creates variables.
    model.compile("sgd", "sparse_categorical_crossentropy", **kwargs)
    # The loss of a step in training depends on what dropout leaves.
    before = model.evaluate(x, y, batch_size=4, verbose=0)
    model.fit(x, y, batch_size=4, epochs=3, shuffle=False, verbose=0)
    assert model.evaluate(x, y, batch_size=4, verbose=0) < before
    return model


def check_round_trip(model, x, folder):
    for before, after in zip(
        flat(model(x)), flat(round_trip(model, folder)(x))
    ):
        assert_equal(before, after)


def round_trip(model, folder):
    model.save(folder / "model.keras")
    return keras.saving.load_model(folder / "model.keras")


def test_sequential_without_an_input(tmp_path):
    model = keras.Sequential([make_shallow_elmo(), keras.layers.Dense(3)])
    expected = ops.convert_to_numpy(model(IDS))
    cloned = keras.models.clone_model(model)
    cloned.set_weights(model.get_weights())
    for copied in (round_trip(model, tmp_path), cloned):
        assert_equal(copied(IDS), expected)
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = keras.Sequential([make_shallow_elmo(), keras.layers.Dense(3)])
        with pytest.raises(ValueError, match=r"int32.*dtype=bfloat16"):
            model(IDS)
    finally:
        keras.config.set_dtype_policy("float32")


def test_documents_through_time_distributed(tmp_path):
    documents = np.stack([IDS[:3], IDS[3:6]])  # (2, 3, 4, 12)
    inputs = keras.Input((3, 4, 12), dtype="int32")
    x = make_shallow_elmo()(inputs)
    x = keras.layers.TimeDistributed(keras.layers.LSTM(5))(x)
    model = keras.Model(inputs, x)
    assert model.predict(documents, verbose=0).shape == (2, 3, 5)
    check_round_trip(model, documents, tmp_path)


def test_a_symbolic_mask_by_hand(tmp_path):
    elmo = make_shallow_elmo()
    inputs = keras.Input((None, 12), dtype="int32")
    mask = keras.Input((None,), dtype="bool")
    model = keras.Model([inputs, mask], elmo(inputs, mask=mask))
    first_two = np.zeros((7, 4), bool)
    first_two[:, :2] = True
    expected = ops.convert_to_numpy(elmo(IDS, mask=first_two))
    for either in (model, round_trip(model, tmp_path)):
        assert_close(either([IDS, first_two]), expected)


def test_the_state_in_and_out_of_a_model(tmp_path):
    encoder = make_shallow_elmo().encoder
    x = keras.Input((None, 6))
    state = [keras.Input((size,)) for size in (6, 7) * 2]
    layers, last = encoder(x, initial_state=state, return_state=True)
    model = keras.Model([x, *state], [layers[-1], *last])
    generator = np.random.default_rng(0)
    values = [generator.normal(size=(2, 5, 6))]
    values += [generator.normal(size=(2, size)) for size in (6, 7) * 2]
    values = [value.astype("float32") for value in values]
    expected = model.predict(values, verbose=0)
    direct, state = encoder(
        values[0], initial_state=values[1:], return_state=True
    )
    for a, b in zip(expected, [direct[-1], *state], strict=True):
        assert_close(a, b)
    check_round_trip(model, values, tmp_path)


@pytest.mark.exhaustive
def test_freezing_and_thawing_between_fits():
    elmo = make_shallow_elmo()
    inputs = keras.Input((None, 12), dtype="int32")
    model = keras.Model(inputs, classify(elmo(inputs)))
    for trainable in (False, True, False):
        elmo.trainable = trainable
        before = elmo.get_weights()
        compile_and_fit(model)
        moved = [
            not np.array_equal(a, b)
            for a, b in zip(before, elmo.get_weights(), strict=True)
        ]
        assert any(moved) == trainable


def test_pickle():
    elmo = make_shallow_elmo()
    copied = pickle.loads(pickle.dumps(elmo))
    assert_equal(copied(IDS), elmo(IDS))


@pytest.mark.exhaustive
def test_eager_calls_from_many_threads_and_of_many_shapes():
    elmo = make_shallow_elmo()
    shapes = [(b, t) for b in (1, 2, 5) for t in (1, 2, 3, 4)]
    expected = {s: elmo(IDS[: s[0], : s[1]]) for s in shapes}
    wrong = []

    def work():
        for b, t in shapes:
            got = elmo(IDS[:b, :t])
            if not np.allclose(got, expected[b, t], rtol=1e-5, atol=1e-6):
                wrong.append((b, t))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.in_graphs(True)
@pytest.mark.exhaustive
def test_many_layers_do_not_make_tensorflow_warn_of_retracing(caplog):
    for _ in range(8):
        make_shallow_elmo()(IDS)
    assert "retracing" not in caplog.text
