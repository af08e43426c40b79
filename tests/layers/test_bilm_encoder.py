import keras
import numpy as np
import numpy_reference
import pytest
from backend_gradients import check_directions_are_blind
from comparisons import assert_close
from comparisons import assert_equal
from keras import ops
from small_models import make_elmo
from small_models import make_shallow_elmo
from small_models import oracle_arguments
from tiers import quick_first

from keras_elmo import BiLMEncoder
from keras_elmo.layers.bilm_encoder import run_directions
from keras_elmo.ops import backends

pytestmark = pytest.mark.in_graphs(False)

LENGTHS = [5, 1, 0, 3]
RIGHT = np.arange(5) < np.array(LENGTHS)[:, None]


@pytest.fixture(scope="module")
def elmo():
    """A model for tests that do not modify it."""
    return make_elmo()


def random_batch(shape=(4, 5, 6)):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def oracle(elmo, x, mask):
    """Returns outputs of real tokens, at their places: (layers, *x.shape)."""
    arguments = oracle_arguments(elmo)
    arrays, lstm = arguments["arrays"], arguments["lstm"]
    width = 2 * elmo.encoder.output_dim
    expected = np.zeros((lstm["num_layers"], *x.shape[:2], width))
    for i in range(len(x)):
        if mask[i].any():
            expected[:, i, mask[i]] = numpy_reference.bilm(
                x[i, mask[i]].astype("float64"), arrays, lstm
            )
    return expected


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_layers": 1},
        {"num_layers": 4},
        {"use_skip_connections": False},
        {"projection_dim": None},
        {"projection_dim": 7},  # equal to the units
        {"cell_clip": None, "proj_clip": None},
        {"cell_clip": 0.1, "proj_clip": 0.05},
    ],
    ids=str,
)
def test_equals_the_oracle(options, path_taken):
    elmo = make_elmo(lstm=options)
    x = random_batch((4, 5, elmo.encoder.output_dim))
    layers = elmo.encoder(x, mask=RIGHT)
    assert len(layers) == elmo.encoder.num_layers
    assert_close(
        [ops.convert_to_numpy(layer) for layer in layers],
        oracle(elmo, x, RIGHT),
        atol=1e-5,
    )


def time_major(*sentences):
    """Concatenates sentences (tokens, features) to one row (steps, 1, ...)."""
    return np.concatenate(sentences)[:, None]


def test_directions_over_sentences_laid_end_to_end(elmo, path_taken):
    encoder = elmo.encoder
    long, short = random_batch((1, 4, 6))[0], random_batch((1, 2, 6))[0] + 1
    # The stacks may read the sentences in any order; each starts at zero.
    carries_on = np.array([0, 1, 1, 1, 0, 1], bool)[:, None, None]
    layers, _ = run_directions(
        encoder,
        [time_major(long, short), time_major(long[::-1], short[::-1])],
        encoder.get_initial_state(1),
        carries_on,
    )
    for i, (forward, backward) in enumerate(layers):
        forward = ops.convert_to_numpy(forward)[:, 0]
        backward = ops.convert_to_numpy(backward)[:, 0]
        found = {
            4: np.concatenate([forward[:4], backward[:4][::-1]], axis=-1),
            2: np.concatenate([forward[4:], backward[4:][::-1]], axis=-1),
        }
        for x in (long, short):
            expected = oracle(elmo, x[None], np.ones((1, len(x)), bool))[i, 0]
            assert_close(found[len(x)], expected)


HOLES = RIGHT[:, [4, 0, 3, 1, 2]]


@pytest.mark.parametrize("mask", [RIGHT, RIGHT[:, ::-1], HOLES], ids=str)
@pytest.mark.parametrize("return_state", [False, True])
def test_ends_that_are_not_returned_are_zero(
    elmo, mask, return_state, path_taken
):
    x = random_batch()
    results = [
        elmo.encoder(x, mask=mask, return_state=return_state, return_ends=ends)
        for ends in (True, False)
    ]
    if return_state:
        (expected, state), (found, last) = results
        for one, other in zip(last, state, strict=True):
            assert_equal(one, other)
    else:
        expected, found = results
    for one, other in zip(found, expected, strict=True):
        one, other = map(ops.convert_to_numpy, (one, other))
        assert not one[:, [0, -1]].any()
        assert_close(one[:, 1:-1], other[:, 1:-1])


@pytest.mark.parametrize("time", [0, 1, 2])
def test_ends_of_short_sentences_are_zero(elmo, time, path_taken):
    x = random_batch((3, time, 6))
    for layer in elmo.encoder(x, return_ends=False):
        assert_equal(layer, np.zeros((3, time, 12)))


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Only TensorFlow has it."
)
@pytest.mark.parametrize("rows", quick_first([8, 1, 12]))
@pytest.mark.in_graphs(True)
def test_steps_prepared_in_parts_are_the_same(monkeypatch, rows):
    import tensorflow as tf

    encoder = make_shallow_elmo().encoder
    x = tf.constant(random_batch())

    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            outputs, state = encoder(x, mask=RIGHT, return_state=True)
            loss = sum(tf.reduce_sum(tf.sin(y)) for y in [*outputs, *state])
        weights = encoder.trainable_weights
        gradients = tape.gradient(loss, [x, *(w.value for w in weights)])
        return [*outputs, *state, *gradients]

    expected = run.get_concrete_function(tf.TensorSpec((None, None, 6)))(x)
    monkeypatch.setattr(backends, "PREPARED_ROWS", rows)
    found = run.python_function
    found = tf.function(found).get_concrete_function(
        tf.TensorSpec((None, None, 6))
    )(x)
    assert len(found) == len(expected) == 1 + 4 + 1 + 8
    for one, other in zip(found, expected):
        assert_close(one, other, atol=1e-5)


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Uses its gradient tape."
)
@pytest.mark.in_graphs(True)
@pytest.mark.exhaustive
def test_gradients_in_half_precision_add_up_over_many_steps(path_taken):
    import tensorflow as tf

    gradients = {}
    for dtype in ("float32", "mixed_bfloat16"):
        encoder = make_elmo(lstm={"num_layers": 1}, dtype=dtype).encoder
        # Every step adds about the same: a low-precision sum would stagnate.
        x = tf.ones((1, 1000, 6))
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.cast(encoder(x)[0], "float32"))
        kernel = encoder.forward_cells[0].recurrent_kernel.value
        gradients[dtype] = tape.gradient(loss, kernel).numpy()
    expected = gradients["float32"]
    difference = np.linalg.norm(gradients["mixed_bfloat16"] - expected)
    assert difference < 0.05 * np.linalg.norm(expected)


@pytest.mark.parametrize("where", ["left", "holes", "none"])
def test_padding_anywhere_is_skipped(elmo, where, path_taken):
    mask = {
        "left": RIGHT[:, ::-1],
        "holes": np.array(
            [
                [True, False, True, True, False],
                [False, False, True, False, True],
                [False] * 5,
                [True] * 5,
            ]
        ),
        "none": np.ones((4, 5), bool),
    }[where]
    x = random_batch()
    layers = elmo.encoder(x, mask=None if where == "none" else mask)
    assert_close(
        [ops.convert_to_numpy(layer) for layer in layers],
        oracle(elmo, x, mask),
        atol=1e-5,
    )


def test_what_stands_at_padding_changes_nothing(elmo):
    encoder = elmo.encoder
    x = random_batch()
    other = np.where(RIGHT[..., None], x, 1e3).astype("float32")
    for a, b in zip(encoder(x, mask=RIGHT), encoder(other, mask=RIGHT)):
        assert_equal(a, b)


def test_the_mask_of_the_input_is_used_and_passed_on(elmo):
    encoder = elmo.encoder
    x = random_batch()
    masked = keras.layers.Masking()(np.where(RIGHT[..., None], x, 0))
    layers = encoder(masked)
    expected = encoder(x, mask=RIGHT)
    for layer, by_hand in zip(layers, expected):
        assert_equal(layer, by_hand)
        assert_equal(layer._keras_mask, RIGHT)
    state = encoder.get_initial_state(4)
    options = {"initial_state": state, "return_state": True}
    layers, _ = encoder(masked, **options)
    expected, _ = encoder(x, mask=RIGHT, **options)
    assert_equal(layers[1], expected[1])


@pytest.mark.slow_on_jax
def test_no_direction_sees_the_tokens_ahead_of_it(elmo):
    encoder = elmo.encoder
    x = random_batch((1, 5, 6))
    for layer in range(encoder.num_layers):
        check_directions_are_blind(
            lambda x, layer=layer: encoder(x)[layer][0], x
        )


def test_the_last_state_is_that_after_the_last_token(elmo, path_taken):
    x = random_batch()
    _, state = elmo.encoder(x, mask=RIGHT, return_state=True)
    assert len(state) == 8
    arguments = oracle_arguments(elmo)
    for i, length in enumerate(LENGTHS):
        for direction in range(2):
            _, last = numpy_reference.lstm_stack(
                x[i, :length], arguments["arrays"], direction, arguments["lstm"]
            )
            for layer, pair in enumerate(last):
                for j, expected in enumerate(pair):
                    got = state[4 * layer + 2 * direction + j][i]
                    assert_close(got, expected, atol=1e-5)


def test_no_tokens_leave_the_state_as_it_was(elmo, path_taken):
    encoder = elmo.encoder
    _, state = encoder(random_batch(), return_state=True)
    nothing = random_batch((4, 0, 6))
    layers, after = encoder(nothing, initial_state=state, return_state=True)
    assert [tuple(layer.shape) for layer in layers] == [(4, 0, 12)] * 2
    for x, expected in zip(after, state, strict=True):
        assert_equal(x, expected)
    assert tuple(encoder(nothing)[0].shape) == (4, 0, 12)


def test_the_state_is_a_value_that_goes_in_again(elmo):
    encoder = elmo.encoder
    x = random_batch((2, 6, 6))
    whole = ops.convert_to_numpy(encoder(x)[1])
    _, state = encoder(x[:, :4], return_state=True)
    rest = ops.convert_to_numpy(encoder(x[:, 4:], initial_state=state)[1])
    # The forward half continues; the backward half began at another end.
    assert_close(rest[..., :6], whole[:, 4:, :6])
    again = encoder(x[:, 4:])
    assert not np.allclose(rest, ops.convert_to_numpy(again[1]))


def test_a_state_that_is_passed_is_not_rounded():
    encoder = make_elmo(dtype="mixed_bfloat16").encoder
    x = random_batch((2, 6, 6))
    _, state = encoder(x[:, :3], return_state=True)
    _, found = encoder(x[:, 3:], initial_state=state, return_state=True)
    # The cell states, which the forward stack carries on, are in float32.
    assert keras.backend.standardize_dtype(state[1].dtype) == "float32"
    _, expected = encoder(x, return_state=True)
    assert_equal(found[1], expected[1])


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("num_layers", 0),
        ("num_layers", "2"),
        ("units", -1),
        ("units", 2.5),
        ("projection_dim", 0),
        ("cell_clip", -3),
        ("cell_clip", True),
        ("cell_clip", 10**400),
        ("proj_clip", float("inf")),
        ("proj_clip", 0),
    ],
)
def test_a_bad_constructor_argument_is_named(argument, value):
    with pytest.raises(ValueError, match=f"`{argument}` must be .* Received"):
        BiLMEncoder(**{"units": 7, "projection_dim": 6, argument: value})


def test_bad_arguments_are_named():
    encoder = BiLMEncoder(7, 6)
    with pytest.raises(ValueError, match="expected ndim=3"):
        encoder(np.zeros((2, 6), "float32"))
    with pytest.raises(ValueError, match=r"must have 8 tensors.*Received: 1"):
        encoder(random_batch(), initial_state=[np.zeros((4, 6), "float32")])
    with pytest.raises(ValueError, match=r"\(4, 6\).* \[\(4, 5\)"):
        encoder(random_batch(), initial_state=[np.zeros((4, 5), "float32")] * 8)
    with pytest.raises(ValueError, match=r"must have 8 tensors.*Received: 1"):
        encoder(keras.Input((5, 6)), initial_state=[keras.Input((6,))])
    with pytest.raises(ValueError, match=r"\(4, 6\).* \[\(1, 6\)"):
        encoder(random_batch(), initial_state=encoder.get_initial_state(1))
    for bad in (np.ones((5, 4), bool), np.ones((4,), bool)):
        with pytest.raises(ValueError, match=r"`mask`.*\(4, 5\)"):
            encoder(random_batch(), mask=bad)


def test_the_mask_of_the_input_counts_beside_a_state():
    ids = keras.Input((4,), dtype="int32")
    state = [keras.Input((size,)) for size in (3, 5, 3, 5)]
    x = keras.layers.Embedding(9, 3, mask_zero=True)(ids)
    (outputs,) = BiLMEncoder(5, 3, num_layers=1)(x, initial_state=state)
    model = keras.Model([ids, *state], outputs)
    data = [np.array([[1, 2, 0, 0]])]
    data += [np.zeros((1, size), "float32") for size in (3, 5, 3, 5)]
    found = model.predict(data, verbose=0)
    assert np.all(found[0, 2:] == 0) and np.all(found[0, :2] != 0)
    assert_close(found, model(data), rtol=0)


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Only TensorFlow has it."
)
@pytest.mark.parametrize(
    "options",
    quick_first(
        [
            {"cell_clip": 0.3, "proj_clip": 0.2},  # active in some places
            {},
            {"projection_dim": None},
            {"cell_clip": None, "proj_clip": None},
        ]
    ),
    ids=str,
)
@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
@pytest.mark.in_graphs(True)
def test_training_gives_the_same_gradients(options, graph):
    import tensorflow as tf

    encoder = make_elmo(lstm={"num_layers": 1, **options}).encoder
    generator = np.random.default_rng(0)
    size = encoder.output_dim
    inputs = generator.normal(size=(2, 4, 3, size)).astype("float32")
    inputs = [tf.constant(x) for x in inputs]
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
            other = other.numpy()
            limit = 2e-6 * np.abs(other).max()
            assert_close(one.numpy(), other, atol=limit)
