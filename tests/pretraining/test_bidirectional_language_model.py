import functools
import pickle

import keras
import layer_checks
import numpy as np
import numpy_reference
import pytest
from comparisons import assert_equal
from keras import ops
from keras.ops import convert_to_numpy as numpy
from keras.random import SeedGenerator
from pretraining.small_language_models import WORDS
from pretraining.small_language_models import arrays_and_options
from pretraining.small_language_models import make_ids
from pretraining.small_language_models import make_model
from pretraining.small_language_models import make_new_model
from pretraining.small_language_models import oracle_hidden
from pretraining.small_language_models import oracle_logits
from pretraining.small_language_models import oracle_losses
from pretraining.small_language_models import token_vectors

from keras_elmo import BidirectionalLanguageModel

BACKEND = keras.backend.backend()


def all_numpy(tensors):
    return [numpy(x) for x in tensors]


def close(got, expected, tolerance=1e-5):
    np.testing.assert_allclose(
        numpy(got), expected, rtol=tolerance, atol=tolerance
    )


OPTIONS = [
    {"num_layers": 3, "use_skip_connections": False},
    {"num_layers": 1, "projection_dim": None, "cell_clip": 0.3},
]


@pytest.mark.parametrize(
    "lstm",
    [{}, *(pytest.param(x, marks=pytest.mark.slow_on_jax) for x in OPTIONS)],
    ids=str,
)
def test_equals_the_oracle(lstm, path_taken):
    model = make_model(lstm)
    ids, targets = make_ids(batch=2, time=4)
    logits = model(ids)
    hidden, state = model._predict_hidden(ids)
    losses = model._losses_of(hidden, targets)
    for d in range(2):
        assert tuple(logits[d].shape) == (2, 4, WORDS)
        assert tuple(losses[d].shape) == (2, 4)
        for row in range(2):
            expected, last = oracle_hidden(model, ids[d][row], d)
            close(hidden[d][:, row], expected)
            expected_logits = oracle_logits(model, expected)
            close(logits[d][row], expected_logits, 1e-4)
            close(
                losses[d][row],
                oracle_losses(expected_logits, targets[d][row]),
                1e-4,
            )
            for k, (h, c) in enumerate(last):
                close(state[4 * k + 2 * d][row], h)
                close(state[4 * k + 2 * d + 1][row], c)


def test_windows_go_on_where_the_last_one_stopped():
    model = make_model()
    ids, _ = make_ids(batch=2, time=7)
    _, *state = model([x[:, :3] for x in ids], return_state=True)
    found = model([x[:, 3:] for x in ids], initial_state=state)
    for got, whole in zip(found, model(ids), strict=True):
        close(got, numpy(whole)[:, 3:])


# Dropout.


class RecordedDropout:
    """Stands in for `keras.random.dropout`, with masks that are known."""

    def __init__(self):
        self.masks = []
        self.seeds = []

    def __call__(self, x, rate, noise_shape=None, seed=None):
        assert noise_shape is None
        generator = np.random.default_rng(len(self.masks))
        mask = (generator.random(tuple(x.shape)) >= rate) / (1 - rate)
        self.masks.append(mask)
        self.seeds.append(seed)
        return x * ops.convert_to_tensor(mask.astype("float32"))


def oracle_with_dropout(model, ids, masks):
    """Applies dropout as bilm-tf does, step by step.

    Args:
        ids: Ids of both directions.
        masks: Array `(layers + 1, 2, time, batch, dim)`: masks for the input of
            each layer, then for the output of the last layer.
    """
    arrays, options = arrays_and_options(model)
    clips = options["cell_clip"], options["proj_clip"]
    hidden = np.zeros(masks.shape[1:])  # (2, time, batch, dim)
    for d in range(2):
        for row in range(masks.shape[3]):
            x = token_vectors(model, ids[d][row])
            for k in range(options["num_layers"]):
                root = f"RNN_{d}/RNN/MultiRNNCell/Cell{k}/LSTMCell/"
                h, c = np.zeros(x.shape[1]), np.zeros(model.encoder.units)
                outputs = []
                for t, vector in enumerate(x):
                    vector = vector * masks[k, d, t, row]
                    h, c = numpy_reference.lstm_step(
                        vector, h, c, arrays, root, *clips
                    )
                    outputs.append(h + vector if k else h)
                x = np.array(outputs)
            hidden[d, :, row] = x * masks[-1, d, :, row]
    return hidden


def test_dropout_is_where_bilm_tf_has_it(monkeypatch):
    dropout = RecordedDropout()
    monkeypatch.setattr(keras.random, "dropout", dropout)
    model = make_model(dropout=0.3)
    ids, _ = make_ids(batch=2, time=4)
    seed = SeedGenerator(1)
    hidden, _ = model._predict_hidden(ids, seed=seed)
    assert all(used is seed for used in dropout.seeds)
    # Each of two layers, step, row and component has its own draw.
    masks = np.array(dropout.masks).reshape(3, 2, 4, 2, 6)
    expected = oracle_with_dropout(model, ids, masks)
    for d in range(2):
        close(hidden[d], expected[d])


def test_no_dropout_unless_in_training(monkeypatch):
    def fail(*args, **kwargs):
        raise AssertionError("dropout")

    model, without = make_model(dropout=0.5), make_model(dropout=0.0)
    ids, _ = make_ids()
    # Each call draws anew.
    trained = [numpy(model(ids, training=True)[0]) for _ in range(2)]
    assert np.any(trained[0] != trained[1])
    monkeypatch.setattr(keras.random, "dropout", fail)
    expected = all_numpy(model(ids))
    for other in (model(ids, training=False), without(ids, training=True)):
        for got, logits in zip(other, expected):
            close(got, logits, 1e-6)


# Losses.


def test_all_words_as_candidates_give_the_exact_losses():
    model = make_model(num_negatives=WORDS)
    ids, targets = make_ids(batch=3, time=2)
    hidden, _ = model._predict_hidden(ids)
    exact = model._losses_of(hidden, targets)
    targets = [ops.convert_to_tensor(x) for x in targets]
    for got, loss in zip(model._sampled_losses_of(hidden, targets, 1), exact):
        assert tuple(got.shape) == (3, 2)
        np.testing.assert_allclose(numpy(got), numpy(loss), rtol=2e-6)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="Others lack float64.")
@pytest.mark.exhaustive
def test_gradients_are_those_of_finite_differences():
    import tensorflow as tf

    model = make_model(dropout=0.2, num_negatives=5, dtype="float64")
    ids, targets = make_ids(batch=3, time=3)
    targets = [ops.convert_to_tensor(x) for x in targets]
    seed = SeedGenerator(7)

    @tf.function
    def loss():
        seed.state.assign([7, 0])  # The same draws in each call.
        hidden, _ = model._predict_hidden(ids, seed=seed)
        losses = model._sampled_losses_of(hidden, targets, seed)
        return ops.mean(ops.stack(losses))

    with tf.GradientTape() as tape:
        total = loss()
    gradients = tape.gradient(total, [v.value for v in model.weights])
    generator = np.random.default_rng(3)
    for variable, gradient in zip(model.weights, gradients, strict=True):
        value = numpy(variable).astype("float64")
        gradient = numpy(tf.convert_to_tensor(gradient))
        assert np.any(gradient != 0), variable.path
        places = [
            np.unravel_index(np.argmax(np.abs(gradient)), gradient.shape),
            tuple(generator.integers(gradient.shape)),
        ]
        for place in places:
            losses = []
            for step in (1e-5, -1e-5):
                moved = value.copy()
                moved[place] += step
                variable.assign(moved)
                losses.append(float(loss()))
            variable.assign(value)
            difference = (losses[0] - losses[1]) / 2e-5
            close(gradient[place], difference, 1e-7)


# As a Keras model.


def test_config():
    make = functools.partial(make_new_model, num_negatives=5, dropout=0.25)
    layer_checks.check_config_round_trip(make, make_ids()[0])
    model = BidirectionalLanguageModel.from_config(make().get_config())
    assert model.softmax.num_negatives == 5
    assert (model.num_negatives, model.dropout, model.words) == (5, 0.25, None)


def test_a_config_without_parts_has_the_papers():
    config = {"vocabulary_size": WORDS, "dtype": "mixed_bfloat16"}
    model = BidirectionalLanguageModel.from_config(config)
    for part in (model.token_encoder, model.encoder):
        assert part.compute_dtype == "bfloat16"
    assert (model.dropout, model.softmax.num_negatives) == (0.1, 8192)


def test_weights_shapes_and_files(tmp_path):
    make, (ids, _) = make_new_model, make_ids()
    layer_checks.check_weight_count(make, ids, 35)
    layer_checks.check_build_from_shape_alone(make, ids)
    layer_checks.check_symbolic_call(make, ids)
    layer_checks.check_keras_file_round_trip(make, ids, tmp_path)


def test_words_are_saved_with_the_model(tmp_path):
    words = ("<S>", "</S>", "<UNK>", "été")
    model, (ids, _) = make_model(words=4), make_ids()
    model.words = words
    model.save(tmp_path / "model.keras")
    for copy in (
        keras.saving.load_model(tmp_path / "model.keras"),
        pickle.loads(pickle.dumps(model)),
    ):
        assert type(copy) is BidirectionalLanguageModel
        assert copy.words == words
        assert_equal(ops.stack(copy(ids)), ops.stack(model(ids)))
    assert keras.models.clone_model(model).words == words
    with pytest.raises(ValueError, match="Received: 4 words"):
        BidirectionalLanguageModel(5, words=words)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="Of TensorFlow's graphs.")
@pytest.mark.exhaustive
def test_export(tmp_path, portable_path):
    make = functools.partial(make_new_model, lstm={"num_layers": 1})
    ids, _ = make_ids()
    layer_checks.check_export(make, ids, tmp_path)


@pytest.mark.slow_on_jax
@pytest.mark.in_graphs(False)
def test_mixed_precision():
    model = make_model(dtype="mixed_bfloat16", num_negatives=5)
    exact = make_model(num_negatives=5)
    ids, _ = make_ids()
    logits, *state = model(ids, return_state=True)
    for got, expected in zip(logits, exact(ids)):
        assert keras.backend.standardize_dtype(got.dtype) == "float32"
        scale = np.abs(numpy(expected)).max()
        close(numpy(got) / scale, numpy(expected) / scale, 0.05)
    names = [keras.backend.standardize_dtype(x.dtype) for x in state]
    assert names == ["bfloat16", "float32"] * 4
    # The state is accepted in the form in which it was returned.
    _, *again = model(ids, initial_state=state, return_state=True)
    assert [x.dtype for x in again] == [x.dtype for x in state]
    inputs = layer_checks.symbolic_input(ids)
    outputs, *states = model(inputs, return_state=True)
    assert [x.dtype for x in outputs] == ["float32"] * 2
    assert [x.dtype for x in states] == names
