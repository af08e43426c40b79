import itertools

import keras
import numpy as np
import numpy_reference
import pytest
from comparisons import assert_close
from comparisons import assert_equal
from conftest import ON_TENSORFLOW
from keras.ops import convert_to_numpy as as_numpy
from small_models import make_elmo
from small_models import make_shallow_elmo
from small_models import oracle_arguments
from tiers import quick_first

from keras_elmo import BiLMEncoder
from keras_elmo.layers.bilm_encoder import run_directions
from keras_elmo.ops import backends

pytestmark = pytest.mark.in_graphs(False)

RIGHT = np.arange(5) < np.array([5, 1, 0, 3])[:, None]
HOLES = RIGHT[:, [4, 0, 3, 1, 2]]


@pytest.fixture(scope="module")
def elmo():
    """A model for tests that do not modify it."""
    return make_elmo()


def random_batch(shape=(4, 5, 6)):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def oracle(elmo, x, mask):
    """Returns the outputs of real tokens, at their places, and the states.

    The outputs are `(layers, batch, time, width)`, the states as those of
    `return_state`.
    """
    arguments, encoder = oracle_arguments(elmo), elmo.encoder
    size = encoder.direction_dim
    expected = np.zeros((encoder.num_layers, *x.shape[:2], 2 * size))
    state = [np.zeros(s.shape) for s in encoder.get_initial_state(len(x))]
    for i, direction in itertools.product(np.flatnonzero(mask.any(1)), (0, 1)):
        layers, last = numpy_reference.lstm_stack(
            x[i, mask[i]], arguments["arrays"], direction, arguments["lstm"]
        )
        half = slice(direction * size, (direction + 1) * size)
        for k, (h, c) in enumerate(last):
            expected[k, i, mask[i], half] = layers[k]
            state[4 * k + 2 * direction][i] = h
            state[4 * k + 2 * direction + 1][i] = c
    return expected, state


@pytest.mark.parametrize(
    ("options", "mask"),
    [
        ({}, None),
        ({}, HOLES),
        ({"num_layers": 3, "projection_dim": None}, RIGHT),
        ({"use_skip_connections": False, "projection_dim": 7}, RIGHT),
        ({"cell_clip": None, "proj_clip": None}, RIGHT),
        ({"cell_clip": 0.1, "proj_clip": 0.05}, RIGHT),
    ],
)
def test_equals_the_oracle(options, mask, path_taken):
    elmo = make_elmo(lstm=options)
    x = random_batch((4, 5, elmo.encoder.direction_dim))
    is_real = np.ones((4, 5), bool) if mask is None else mask
    expected, last = oracle(elmo, x, is_real)
    x[~is_real] = 1e3  # What stands at padding changes nothing.
    for ends, with_state in itertools.product((True, False), repeat=2):
        layers = elmo.encoder(
            x, mask=mask, return_ends=ends, return_state=with_state
        )
        layers, *state = layers if with_state else (layers, *last)
        assert len(layers) == elmo.encoder.num_layers
        layers = np.array([as_numpy(layer) for layer in layers])
        if not ends:
            expected[:, :, [0, -1]] = 0
            assert not layers[:, :, [0, -1]].any()
        assert_close(layers, expected, atol=1e-5)
        for found, wanted in zip(state, last, strict=True):
            assert_close(found, wanted, atol=1e-5)


@ON_TENSORFLOW
@pytest.mark.parametrize("rows", quick_first([8, 1, 12]))
@pytest.mark.in_graphs(True)
def test_steps_prepared_in_parts_are_the_same(monkeypatch, rows):
    import tensorflow as tf

    encoder = make_shallow_elmo().encoder
    x = tf.constant(random_batch())

    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            outputs, *state = encoder(x, mask=RIGHT, return_state=True)
            loss = sum(tf.reduce_sum(tf.sin(y)) for y in [*outputs, *state])
        weights = encoder.trainable_weights
        gradients = tape.gradient(loss, [x, *(w.value for w in weights)])
        return [*outputs, *state, *gradients]

    spec = [tf.TensorSpec((None, None, 6))]
    expected = tf.function(run, input_signature=spec)(x)
    monkeypatch.setattr(backends, "PREPARED_ROWS", rows)
    found = tf.function(run, input_signature=spec)(x)
    assert len(found) == len(expected) == 1 + 4 + 1 + 8
    for one, other in zip(found, expected):
        assert_close(one, other, atol=1e-5)


@ON_TENSORFLOW
@pytest.mark.in_graphs(True)
@pytest.mark.exhaustive
def test_gradients_in_half_precision_add_up_over_many_steps(path_taken):
    import tensorflow as tf

    gradients = []
    for dtype in ("float32", "mixed_bfloat16"):
        encoder = make_elmo(lstm={"num_layers": 1}, dtype=dtype).encoder
        # Every step adds about the same: a low-precision sum would stagnate.
        x = tf.ones((1, 1000, 6))
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.cast(encoder(x)[0], "float32"))
        kernel = encoder.forward_cells[0].recurrent_kernel.value
        gradients.append(tape.gradient(loss, kernel).numpy())
    expected, found = gradients
    difference = np.linalg.norm(found - expected)
    assert difference < 0.05 * np.linalg.norm(expected)


def test_no_tokens_leave_the_state_as_it_was(elmo, path_taken):
    encoder = elmo.encoder
    _, *state = encoder(random_batch(), return_state=True)
    nothing = random_batch((4, 0, 6))
    layers, *after = encoder(nothing, initial_state=state, return_state=True)
    for x, expected in zip(after, state, strict=True):
        assert_equal(x, expected)
    for layer in [*layers, *encoder(nothing)]:
        assert tuple(layer.shape) == (4, 0, 12)
    for layer in encoder(random_batch((0, 4, 6))):
        assert tuple(layer.shape) == (0, 4, 12)
    for time in (1, 2):  # There are only the ends.
        for layer in encoder(random_batch((3, time, 6)), return_ends=False):
            assert_equal(layer, np.zeros((3, time, 12)))


def test_a_state_that_is_passed_is_not_rounded():
    encoder = make_elmo(dtype="mixed_bfloat16").encoder
    x = random_batch((2, 6, 6))
    _, *state = encoder(x[:, :3], return_state=True)
    _, *found = encoder(x[:, 3:], initial_state=state, return_state=True)
    # The cell states, which the forward stack carries on, are in float32.
    assert keras.backend.standardize_dtype(state[1].dtype) == "float32"
    _, *expected = encoder(x, return_state=True)
    assert_equal(found[1], expected[1])


def test_the_mask_of_the_input_counts_beside_a_state():
    embedding = keras.layers.Embedding(9, 3, mask_zero=True)
    x = embedding(np.array([[1, 2, 0, 0]]))
    encoder = BiLMEncoder(5, 3, num_layers=1)
    (found,) = encoder(x, initial_state=encoder.get_initial_state(1))
    assert as_numpy(found)[0].any(axis=-1).tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize(
    ("argument", "values"),
    [
        ("num_layers", [0, "2"]),
        ("units", [-1, 2.5]),
        ("projection_dim", [0]),
        ("cell_clip", [-3, True, 10**400]),
        ("proj_clip", [float("inf"), 0]),
    ],
)
def test_a_bad_constructor_argument_is_named(argument, values):
    for bad in values:
        with pytest.raises(ValueError, match=f"`{argument}` must be .* Rec"):
            BiLMEncoder(**{"units": 7, "projection_dim": 6, argument: bad})


@pytest.mark.parametrize(
    ("x", "state", "mask", "message"),
    [
        (np.zeros((2, 6), "float32"), None, None, "expected ndim=3"),
        (random_batch(), [np.zeros((4, 6))], None, "8 tensors.*Received: 1"),
        (random_batch(), [np.zeros((1, 6))] * 8, None, r"4, 6\).* \[\(1, 6\)"),
        (keras.Input((5, 6)), [keras.Input((6,))], None, "8 .*Received: 1"),
        (random_batch(), None, np.ones((5, 4), bool), r"`mask`.*\(4, 5\)"),
    ],
)
def test_bad_call_arguments_are_named(x, state, mask, message):
    with pytest.raises(ValueError, match=message):
        BiLMEncoder(7, 6)(x, initial_state=state, mask=mask)


@ON_TENSORFLOW
@pytest.mark.parametrize(
    "options",
    quick_first(
        [
            {"cell_clip": 0.3, "proj_clip": 0.2},  # active in some places
            {"cell_clip": None, "proj_clip": None},
            {"projection_dim": None},
        ]
    ),
)
@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.in_graphs(True)
def test_training_gives_the_same_gradients(options, graph):
    import tensorflow as tf

    encoder = make_elmo(lstm={"num_layers": 1, **options}).encoder
    generator = np.random.default_rng(0)
    shape = (2, 4, 3, encoder.direction_dim)
    inputs = tf.unstack(tf.constant(generator.normal(size=shape), "float32"))
    state = [
        tf.constant(generator.normal(0, 0.1, s.shape), s.dtype)
        for s in encoder.get_initial_state(3)
    ]
    sources = inputs + state
    sources += [v.value for v in encoder.trainable_variables]

    def run(training):
        with tf.GradientTape() as tape:
            tape.watch(inputs + state)
            layers, last = run_directions(
                encoder, inputs, state, training=training
            )
            both = [h for layer in layers for h in layer]
            # The losses of a window and of one that continues it.
            loss = sum(tf.reduce_sum(tf.sin(3 * h)) for h in both)
            loss += sum(tf.reduce_sum(tf.cos(s)) for s in last)
        return both + list(last), tape.gradient(loss, sources)

    if graph:
        run = tf.function(run, autograph=False)
    for found, expected in zip(run(True), run(False)):
        for one, other in zip(found, expected, strict=True):
            limit = 2e-6 * np.abs(other).max()
            assert_close(one, other, atol=limit)
