import itertools

import keras
import numpy as np
import numpy_reference
import pytest
from backend_gradients import weight_gradients
from comparisons import assert_close
from comparisons import assert_equal
from fast_paths import use_fast_paths
from keras import ops
from keras.ops import convert_to_numpy as numpy
from small_models import make_elmo
from small_models import make_shallow_elmo
from small_models import oracle_arguments
from tiers import quick_first

from keras_elmo import BiLMEncoder
from keras_elmo import CharCNNEmbedding
from keras_elmo import ElmoLayer
from keras_elmo import ScalarMix
from keras_elmo import batch_to_ids

pytestmark = pytest.mark.in_graphs(False)

SENTENCES = [
    ["The", "cat", "sat", "on", "the", "mat"],
    ["Привет", "мир", "東京", "naïveté"],
    [],
    ["One"],
    ["", "a-very-long-word-that-is-cropped", "🙂"],
]
LENGTHS = [len(sentence) for sentence in SENTENCES]
IDS = batch_to_ids(SENTENCES, 12)
MASK = np.arange(6) < np.array(LENGTHS)[:, None]
on_tensorflow = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="It is about TensorFlow."
)


@pytest.fixture(scope="module")
def elmo():
    """A model for tests that do not modify it."""
    return make_shallow_elmo()


def oracle_layers(elmo, sentences, width=12):
    """Returns a list of (layers, tokens, 2 * projection), one per sentence."""
    arguments = oracle_arguments(elmo)
    return [
        numpy_reference.elmo_layers(
            batch_to_ids([["<S>", *sentence, "</S>"]], width)[0], **arguments
        )
        for sentence in sentences
    ]


@pytest.mark.parametrize(
    ("cnn", "lstm"),
    [
        ({}, {}),
        ({"num_highways": 0}, {"num_layers": 1}),
        ({"activation": "tanh"}, {"num_layers": 4}),
        ({"filters": [(12, 6)], "projection_dim": None}, {}),
        ({}, {"projection_dim": None, "units": 6}),
        ({}, {"cell_clip": None, "proj_clip": None}),
        ({}, {"use_skip_connections": False, "proj_clip": 0.1}),
    ],
    ids=str,
)
def test_equals_the_oracle(cnn, lstm, path_taken):
    elmo = make_elmo(cnn, lstm)
    layers = numpy(elmo.all_layers(IDS))
    assert layers.shape == (5, elmo.encoder.num_layers + 1, 6, 12)
    for i, expected in enumerate(oracle_layers(elmo, SENTENCES)):
        length = LENGTHS[i]
        assert_close(layers[i, :, :length], expected, atol=1e-5)
        assert np.all(layers[i, :, length:] == 0)


def test_the_call_mixes_the_layers():
    elmo = make_shallow_elmo(scalar_mix=ScalarMix(layer_norm=False))
    weights, gamma = elmo.mix_weights
    layers = numpy(elmo.all_layers(IDS))  # (batch, layers, time, width)
    expected = gamma * np.tensordot(layers, weights, (1, 0))
    vectors = numpy(elmo(IDS))
    assert_close(vectors, expected, atol=1e-5)
    assert np.all(vectors[~MASK] == 0)


@on_tensorflow
@pytest.mark.in_graphs(True)
def test_eager_and_graph_agree_with_unknown_shapes(elmo, path_taken):
    import tensorflow as tf

    spec = [tf.TensorSpec((None, None, 12), "int32")]
    for function in (elmo, elmo.all_layers):
        compiled = tf.function(function, input_signature=spec)
        assert_close(compiled(IDS), function(IDS))


@pytest.mark.slow_on_jax
def test_padding_batch_mates_and_their_order_change_nothing(elmo, path_taken):
    vectors = numpy(elmo(IDS))
    assert_close(elmo(IDS[::-1]), vectors[::-1])
    padded = np.pad(IDS, ((0, 1), (0, 7), (0, 0)))
    assert_close(numpy(elmo(padded))[:5, :6], vectors)
    for i, length in enumerate(LENGTHS):
        if length:
            alone = numpy(elmo(IDS[i : i + 1, :length]))
            assert_close(alone[0], vectors[i, :length])


def test_padding_on_the_left_or_between_is_skipped(elmo):
    vectors = numpy(elmo(IDS[:1]))[0]
    places = [1, 2, 4, 5, 7, 9]
    ids = np.zeros((1, 11, 12), "int32")
    ids[0, places] = IDS[0]
    output = elmo(ids)
    assert_close(numpy(output)[0, places], vectors)
    rest = np.setdiff1d(np.arange(11), places)
    assert np.all(numpy(output)[0, rest] == 0)
    assert numpy(output._keras_mask)[0].nonzero()[0].tolist() == places


class _FirstTokens(keras.layers.Layer):
    """Masks all tokens but the first three."""

    supports_masking = True

    def call(self, inputs):
        return inputs

    def compute_mask(self, inputs, mask=None):
        is_first = ops.arange(inputs.shape[1]) < 3
        return ops.logical_and(is_first, ops.equal(inputs[..., 0], 259))


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_the_mask_of_a_layer_before_it_counts(elmo, dtype):
    inputs = keras.Input(IDS.shape[1:], dtype=dtype)
    outputs = elmo(_FirstTokens(dtype=dtype)(inputs))
    model = keras.Model(inputs, outputs)
    mask = MASK & (np.arange(6) < 3)
    expected = numpy(elmo(IDS, mask=mask))
    ids = IDS.astype(dtype)
    assert_close(model.predict(ids, verbose=0), expected)
    assert_close(model(ids), expected)


@pytest.mark.parametrize("by_position", [False, True])
def test_a_mask_by_hand_wins(elmo, by_position):
    shorter = MASK & (np.arange(6) < 2)
    output = elmo(IDS, shorter) if by_position else elmo(IDS, mask=shorter)
    expected = numpy(elmo(IDS[:, :2]))
    assert_close(numpy(output)[:, :2], expected)
    assert_equal(output._keras_mask, shorter)
    assert_close(
        elmo.all_layers(IDS, mask=shorter),
        elmo.all_layers(IDS * shorter[..., None]),
    )


@pytest.mark.parametrize("add", [True, False])
@pytest.mark.parametrize("keep", [True, False])
def test_sentences_without_words_give_an_empty_result(add, keep, path_taken):
    elmo = make_shallow_elmo(
        add_sentence_boundaries=add, keep_sentence_boundaries=keep
    )
    time = 2 * (add and keep)
    for shape in ((2, 0), (2, 3, 0)):
        output = numpy(elmo(np.zeros((*shape, 12), "int32")))
        assert output.shape == (*shape[:-1], time, 12)
        assert np.all(np.any(output, axis=-1))  # <S> and </S>


@pytest.mark.skipif(
    keras.backend.backend() == "jax",
    reason="There `keras.ops.take` drops an axis when it takes nothing.",
)
@pytest.mark.parametrize("add", [True, False])
def test_an_empty_batch_gives_an_empty_result(add, path_taken):
    elmo = make_shallow_elmo(add_sentence_boundaries=add)
    time = 6 - 2 * (not add)
    assert numpy(elmo(IDS[:0])).shape == (0, time, 12)
    assert numpy(elmo(batch_to_ids([], 12))).shape == (0, 0, 12)


@pytest.mark.slow_on_jax
def test_documents_of_sentences():
    elmo = make_shallow_elmo(num_representations=2)
    documents = np.stack([IDS, IDS[::-1]])  # (2, 5, 6, 12)
    outputs = elmo(documents)
    for output, expected in zip(outputs, elmo(IDS)):
        assert_close(numpy(output)[0], expected)
        assert_equal(numpy(output._keras_mask)[0], MASK)
    layers = numpy(elmo.all_layers(documents))
    assert layers.shape == (2, 5, 2, 6, 12)
    assert_close(layers[0], elmo.all_layers(IDS))


def test_boundaries_are_kept_on_request(path_taken):
    elmo = make_shallow_elmo(keep_sentence_boundaries=True)
    output = elmo(IDS)
    assert output.shape == (5, 8, 12)
    expected_mask = np.arange(8) < np.array(LENGTHS)[:, None] + 2
    assert_equal(output._keras_mask, expected_mask)
    elmo.keep_sentence_boundaries = False
    inner = numpy(elmo(IDS))
    for i, length in enumerate(LENGTHS):
        assert_close(
            numpy(output)[i, 1 : length + 1],
            inner[i, :length],
            rtol=1e-6,
            atol=0,
        )
        assert np.all(numpy(output)[i, length + 2 :] == 0)
        assert np.all(np.any(numpy(output)[i, [0, length + 1]] != 0, axis=-1))


@pytest.mark.parametrize("keep", [False, True])
def test_boundaries_may_be_in_the_ids(keep, path_taken):
    ours = make_shallow_elmo(keep_sentence_boundaries=keep)
    given = make_shallow_elmo(
        add_sentence_boundaries=False, keep_sentence_boundaries=keep
    )
    bounded = batch_to_ids([["<S>", *s, "</S>"] for s in SENTENCES], 12)
    output, expected = given(bounded), ours(IDS)
    assert_close(output, expected)
    assert_equal(output._keras_mask, expected._keras_mask)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("add", [True, False])
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("stack", [True, False])
def test_symbolic_shapes_are_the_real_ones(add, keep, stack):
    options = {
        "add_sentence_boundaries": add,
        "keep_sentence_boundaries": keep,
        "return_all_layers": stack,
    }
    for shape in (IDS.shape, (1, *IDS.shape)):
        elmo = make_shallow_elmo(**options)
        symbolic = elmo(keras.Input(batch_shape=shape, dtype="int32"))
        real = elmo(IDS.reshape(shape))
        assert tuple(symbolic.shape) == tuple(real.shape)
        assert tuple(symbolic._keras_mask.shape) == tuple(
            real._keras_mask.shape
        )
        unknown = (None,) * (len(shape) - 1)
        symbolic = elmo(keras.Input((*unknown[1:], 12), dtype="int32"))
        assert symbolic.shape[-1] == 12


@pytest.mark.slow_on_jax
def test_each_of_several_representations_has_the_mask():
    elmo = make_shallow_elmo(num_representations=2)
    outputs = elmo(IDS)
    for output in outputs:
        assert_equal(output._keras_mask, MASK)
    # A masked LSTM after the layer stops where each sentence ends.
    lstm = keras.layers.LSTM(3)
    for k, output in enumerate(outputs):
        last = numpy(lstm(output))
        for i, length in enumerate(LENGTHS):
            if length:
                alone = elmo(IDS[i : i + 1, :length])[k]
                assert_close(last[i], numpy(lstm(alone))[0], rtol=1e-4)
    assert len(elmo.mix_weights) == 2


def test_representations_start_equal_and_one_mix_may_serve_as_pattern():
    elmo = ElmoLayer(
        CharCNNEmbedding(6, [(2, 8)], 0, 4, max_characters_per_token=12),
        BiLMEncoder(7, 6),
        ScalarMix(regularizer="l2", layer_norm=True, name="mix"),
        num_representations=3,
    )
    first, *others = elmo(IDS)
    for other in others:
        assert_equal(first, other)
    assert [mix.regularizer.l2 for mix in elmo.scalar_mixes] == [0.01] * 3
    assert len({mix.name for mix in elmo.scalar_mixes}) == 3
    assert len(elmo.losses) == 3


@pytest.mark.parametrize("keep", [False, True])
def test_layer_norm_counts_what_is_in_the_output(keep):
    elmo = make_shallow_elmo(
        scalar_mix=ScalarMix(layer_norm=True), keep_sentence_boundaries=keep
    )
    weights, gamma = elmo.mix_weights
    expected = 0
    layers = np.moveaxis(numpy(elmo.all_layers(IDS)).astype("float64"), 1, 0)
    mask = numpy(elmo.compute_mask(IDS))
    for weight, layer in zip(weights, layers):
        entries = layer[mask]
        normal = (layer - entries.mean()) / np.sqrt(entries.var() + 1e-12)
        expected = expected + gamma * weight * normal
    expected = np.where(mask[..., None], expected, 0)
    assert_close(elmo(IDS), expected, rtol=1e-4, atol=1e-5)


def test_return_all_layers_in_a_model_is_all_layers():
    elmo = make_shallow_elmo(return_all_layers=True)
    inputs = keras.Input((None, 12), dtype="int32")
    model = keras.Model(inputs, elmo(inputs))
    assert_close(model.predict(IDS, verbose=0), elmo.all_layers(IDS))
    assert elmo.scalar_mixes == []


def test_all_layers_on_a_symbolic_input_points_elsewhere():
    with pytest.raises(ValueError, match="return_all_layers=True"):
        make_shallow_elmo().all_layers(keras.Input((None, 12), dtype="int32"))


def test_return_all_layers_lets_gradients_through():
    elmo = make_shallow_elmo(return_all_layers=True)
    _, gradients = weight_gradients(elmo, lambda y: ops.sum(ops.sin(y)), IDS)
    assert len(gradients) == len(elmo.weights)
    for path, gradient in gradients.items():
        assert np.any(gradient != 0), path


def test_stateless_call_uses_the_weights_it_is_given():
    elmo = make_shallow_elmo(return_all_layers=True)
    fresh = make_shallow_elmo(return_all_layers=True)
    before = numpy(elmo(IDS))
    halved = [v.value * 0.5 for v in elmo.trainable_variables]
    for layer in (elmo, fresh):
        frozen = [v.value for v in layer.non_trainable_variables]
        outputs, _ = layer.stateless_call(halved, frozen, IDS)
        assert not np.allclose(numpy(outputs), before)
        assert_close(layer(IDS), before, atol=1e-5)
    for variable in elmo.trainable_variables:
        variable.assign(variable.value * 0.5)
    assert_close(elmo(IDS), outputs, atol=1e-5)


@pytest.mark.parametrize("all_layers", [False, True])
def test_dropout_only_in_training(all_layers):
    elmo = make_shallow_elmo(dropout=0.5, seed=3, return_all_layers=all_layers)
    # If gradients are needed, the biLM rounds differently in training.
    elmo.token_encoder.trainable = elmo.encoder.trainable = False
    vectors = numpy(elmo(IDS))
    assert_equal(elmo(IDS, training=False), vectors)
    dropped = numpy(elmo(IDS, training=True))
    share = np.mean(dropped[vectors != 0] == 0)
    assert 0.3 < share < 0.7
    kept = dropped != 0
    assert_close(dropped[kept], 2 * vectors[kept])


def without_graphs(call):
    use_fast_paths(False)
    try:
        return call()
    finally:
        use_fast_paths(True)


def check_calls_agree(call, rtol=1e-5, atol=1e-6):
    """Checks that a call gives the result of the portable code, each time."""
    expected = without_graphs(call)
    first, *later = [keras.tree.map_structure(numpy, call()) for _ in range(3)]
    keras.tree.map_structure(
        lambda a, b: assert_close(
            a.astype("float32"),
            numpy(b).astype("float32"),
            rtol=rtol,
            atol=atol,
        ),
        first,
        expected,
    )
    for other in later:
        keras.tree.map_structure(np.testing.assert_array_equal, other, first)


@pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="It is about PyTorch."
)
def test_what_docs_installation_says_about_pytorch():
    def make():
        keras.utils.clear_session()
        elmo = make_shallow_elmo(name="elmo", dropout=0.5)
        elmo.trainable = False
        return elmo

    elmo = make().train()
    assert_equal(elmo(IDS), elmo(IDS))
    assert (elmo(IDS, training=True) != elmo(IDS, training=True)).any()
    assert_equal(elmo(IDS, training=False), elmo(IDS))
    with pytest.raises(RuntimeError, match="floating point dtype"):
        elmo.requires_grad_(True)
    twin = make()
    assert elmo.state_dict().keys() == twin.state_dict().keys()
    elmo.set_weights([w + 1 for w in elmo.get_weights()])
    twin.load_state_dict(elmo.state_dict())
    assert_equal(twin(IDS), elmo(IDS))
    plain = make_shallow_elmo()
    plain.trainable = False
    assert not plain.requires_grad_(True)(IDS).requires_grad
    plain.trainable = True
    assert plain(IDS).requires_grad


@pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="Keras exports by it on JAX."
)
def test_exported_by_jax_for_any_size(elmo):
    import jax
    from jax import export

    shape = export.symbolic_shape("batch, time, 12")
    ids = jax.ShapeDtypeStruct(shape, "int32")
    run = export.export(jax.jit(lambda x: elmo(x)))(ids)
    for part in (IDS, IDS[:1, :2]):
        np.testing.assert_allclose(run.call(part), elmo(part), atol=1e-5)


@pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="JAX compiles each shape."
)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"keep_sentence_boundaries": True, "num_representations": 2},
        {"return_all_layers": True, "add_sentence_boundaries": False},
    ],
)
def test_lengths_alike_are_compiled_once(options):
    jax = pytest.importorskip("jax")
    elmo = make_elmo(**options)
    ids = np.pad(IDS[:2], [(0, 0), (0, 10 - IDS.shape[1]), (0, 0)])
    documents = ids[:, None, :9]
    mask = np.any(documents != 0, axis=-1) & (np.arange(9) < 3)
    values = [variable.value for variable in elmo.variables]

    def uncompiled(x, mask=None):
        # Without the layer's own compilation, but faster than one by one.
        call = jax.jit(lambda *args: elmo.stateless_call(*args, mask=mask)[0])
        return call(values, [], x)

    inputs = [(ids[:, :9], {}), (ids, {}), (ids[:1], {})]
    inputs.append((documents, {"mask": mask}))
    expected = [uncompiled(x, **kwargs) for x, kwargs in inputs]
    runs, call = [], elmo.token_encoder.call
    elmo.token_encoder.call = lambda *a, **k: runs.append(1) or call(*a, **k)
    for number, (x, kwargs), wanted in zip((1, 1, 2, 3), inputs, expected):
        found = elmo(x, **kwargs)
        assert len(runs) == number
        keras.tree.map_structure(
            lambda a, b: assert_close(a, b),
            found,
            wanted,
        )


@on_tensorflow
@pytest.mark.in_graphs(True)
def test_eager_calls_take_any_shape():
    elmo = make_shallow_elmo(num_representations=2)
    check_calls_agree(lambda: elmo(IDS))
    expected = numpy(elmo.all_layers(IDS))
    for i, length in enumerate(LENGTHS):
        alone = numpy(elmo.all_layers(IDS[i : i + 1, :length]))
        assert_close(alone[0], expected[i, :, :length])
    assert numpy(elmo(IDS[:0])[0]).shape == (0, 6, 12)
    elmo.encoder.trainable = elmo.token_encoder.trainable = False
    check_calls_agree(lambda: elmo(IDS))


@on_tensorflow
@pytest.mark.parametrize(
    ("options", "shape", "mask"),
    [
        ({"dtype": "mixed_bfloat16", "keep_sentence_boundaries": True}, (), 0),
        ({"return_all_layers": True}, (1,), MASK[None] & (np.arange(6) < 2)),
    ],
    ids=["half precision", "masked documents"],
)
@pytest.mark.in_graphs(True)
def test_eager_calls_give_what_others_give(options, shape, mask):
    elmo = make_shallow_elmo(**options)
    ids = IDS.reshape(*shape, *IDS.shape)
    mask = {"mask": mask} if shape else {}
    # A graph rounds less often: bfloat16 has 8 bits.
    limits = {"rtol": 2**-6, "atol": 2**-6} if "dtype" in options else {}
    check_calls_agree(lambda: elmo(ids, **mask), **limits)
    output = elmo(ids, **mask)
    assert_equal(output._keras_mask, elmo.compute_mask(ids, **mask))


@on_tensorflow
@pytest.mark.in_graphs(True)
def test_eager_calls_raise_the_same_errors():
    elmo = make_shallow_elmo()
    bad = np.where(IDS == 0, 262, IDS)
    errors = []
    for _ in range(3):
        with pytest.raises(ValueError, match="ids from 0 to 261") as error:
            elmo(bad)
        errors.append(str(error.value))
        elmo(IDS)
    assert len(set(errors)) == 1


@on_tensorflow
@pytest.mark.in_graphs(True)
@pytest.mark.parametrize("freeze", quick_first([True, False]))
def test_eager_calls_have_the_same_gradients(freeze):
    elmo = make_shallow_elmo()
    elmo.token_encoder.trainable = not freeze

    def gradients():
        return weight_gradients(elmo, lambda y: ops.sum(ops.sin(y)), IDS)[1]

    first, *later = without_graphs(gradients), gradients(), gradients()
    assert len(first) == len(elmo.trainable_weights)
    for found in later:
        for path, gradient in first.items():
            limit = 1e-5 * max(1, np.abs(gradient).max())
            assert_close(
                found[path], gradient, rtol=1e-4, atol=limit, err_msg=path
            )


@on_tensorflow
@pytest.mark.in_graphs(True)
def test_weights_that_change_are_read_by_eager_calls():
    elmo = make_shallow_elmo()
    before = numpy(elmo(IDS))
    for variable in elmo.weights:
        variable.assign(variable.value * 0.5)
    changed = numpy(elmo(IDS))
    assert not np.allclose(changed, before)
    fresh = make_shallow_elmo()
    fresh.set_weights(elmo.get_weights())
    assert_close(changed, fresh(IDS))


def test_dropout_is_drawn_anew_in_each_call():
    elmo = make_shallow_elmo(dropout=0.5, seed=3)
    draws = [numpy(elmo(IDS, training=True)) == 0 for _ in range(5)]
    for one, other in itertools.combinations(draws, 2):
        assert np.any(one != other)
    again = make_shallow_elmo(dropout=0.5, seed=3)
    for draw in draws:
        assert_equal(numpy(again(IDS, training=True)) == 0, draw)


def test_a_token_encoder_of_ones_own_runs_in_each_call():
    inner = make_shallow_elmo()
    texts = []

    class Printing(keras.layers.Layer):
        boundary_ids = inner.token_encoder.boundary_ids
        token_shape = (12,)

        def call(self, inputs):
            texts.append(numpy(inputs).shape)  # No graph could do this.
            return inner.token_encoder(inputs)

        def compute_mask(self, inputs, previous_mask=None):
            return inner.token_encoder.compute_mask(inputs)

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], 6)

    elmo = ElmoLayer(Printing(), inner.encoder, return_all_layers=True)
    expected = numpy(inner.all_layers(IDS))
    for _ in range(4):
        assert_close(elmo(IDS), expected)
    assert len(texts) == 4


@pytest.mark.parametrize("in_model", [False, True], ids=["eager", "model"])
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_the_state_is_passed_from_call_to_call(in_model, dtype):
    elmo = make_shallow_elmo(dtype=dtype, num_representations=2)

    def run(ids, state):
        outputs, state = elmo(ids, initial_state=state, return_state=True)
        return [ops.cast(x, "float32") for x in outputs], state

    if in_model:
        inputs = keras.Input((None, 12), dtype="int32")
        state = [keras.Input((size,)) for size in (6, 7, 6, 7)]
        outputs, last = run(inputs, state)
        model = keras.Model([inputs, state], [outputs, last])

        def run(ids, state):
            return model([ops.convert_to_tensor(ids), state])

    first, state = run(IDS, elmo.get_initial_state(len(IDS)))
    dtypes = [keras.backend.standardize_dtype(s.dtype) for s in state]
    assert dtypes[1::2] == ["float32"] * 2
    second, _ = run(IDS, state)
    # A row of zeros starts a sentence anew.
    rows = np.arange(len(IDS))[:, None] != 1
    mixed, _ = run(IDS, [ops.where(rows, s, ops.zeros_like(s)) for s in state])
    limit = 1e-5 if dtype == "float32" else 0.02
    for k, stateless in enumerate(elmo(IDS)):
        stateless = numpy(ops.cast(stateless, "float32"))
        one, two, three = (numpy(x[k]) for x in (first, second, mixed))
        assert_close(one, stateless, rtol=limit, atol=limit)
        assert not np.allclose(one, two, rtol=limit, atol=limit)
        two[1] = one[1]
        assert_close(three, two, rtol=limit, atol=limit)
    (output, _), _ = elmo(IDS, initial_state=state, return_state=True)
    assert_equal(output._keras_mask, MASK)


def test_a_state_of_documents_has_a_row_for_each_sentence():
    elmo = make_shallow_elmo()
    expected, wanted = elmo(IDS, return_state=True)
    found, state = elmo(IDS[None], return_state=True)
    for x, y in zip([found[0], *state], [expected, *wanted], strict=True):
        assert_close(x, y)
    with pytest.raises(ValueError, match="must have 4 tensors"):
        elmo(IDS, initial_state=state[:2])
    for number in (1, len(IDS) - 1):
        with pytest.raises(ValueError, match=f"Received: .*{number}, "):
            elmo(IDS, initial_state=elmo.get_initial_state(number))


def test_composed_by_hand_it_is_the_same_network():
    elmo = make_shallow_elmo(add_sentence_boundaries=False)
    inputs = keras.Input((None, 12), dtype="int32")
    x = elmo.token_encoder(inputs)
    layers = elmo.encoder(x)
    x = keras.layers.Concatenate()([x, x])
    model = keras.Model(inputs, elmo.scalar_mixes[0]([x, *layers]))
    bounded = batch_to_ids([["<S>", *s, "</S>"] for s in SENTENCES], 12)
    by_hand = model.predict(bounded, verbose=0)
    expected = numpy(elmo(bounded))
    for i, length in enumerate(LENGTHS):
        assert_close(by_hand[i, 1 : length + 1], expected[i, :length])


@pytest.mark.exhaustive  # It takes 374 MB.
def test_the_paper_model_has_the_published_number_of_weights():
    elmo = ElmoLayer()
    elmo.build((None, None, 50))
    cnn, encoder = elmo.token_encoder, elmo.encoder
    assert cnn.count_params() + encoder.count_params() == 93_600_848
    assert elmo.count_params() == 93_600_848 + 4  # the mix
    assert (cnn.num_filters, cnn.num_highways) == (2048, 2)
    assert (encoder.units, encoder.output_dim) == (4096, 512)
    assert encoder.num_layers == 2


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (IDS[0], ["(batch, time, 12)", "(batch, sentences, time, 12)"]),
        (IDS[None, None], ["(1, 1, 5, 6, 12)"]),
        (IDS[..., :11], ["12", "11"]),
        (IDS + 0.5, ["integer", "0.5"]),
        (IDS + 300, ["0 to 261"]),
        (IDS - 5, ["0 to 261", "-5"]),
    ],
)
def test_bad_ids_are_named(elmo, ids, words):
    for function in (elmo, elmo.all_layers):
        with pytest.raises(ValueError, match="Received") as error:
            function(ids)
        for word in words:
            assert word in str(error.value)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="num_representations"):
        ElmoLayer(num_representations=0)
    with pytest.raises(ValueError, match="`scalar_mix` must be"):
        ElmoLayer(num_representations=2, scalar_mix=[ScalarMix()])
    with pytest.raises(ValueError, match="the layers are not mixed"):
        ElmoLayer(return_all_layers=True, num_representations=2)
    with pytest.raises(ValueError, match="boundary_ids"):
        ElmoLayer(keras.layers.Dense(3))
    for bad in ("x", [ScalarMix(name="a"), ScalarMix(name="a")]):
        with pytest.raises(ValueError, match="with different names"):
            ElmoLayer(num_representations=2, scalar_mix=bad)
    with pytest.raises(ValueError, match="`encoder` must be a Keras layer"):
        ElmoLayer(encoder=BiLMEncoder)
    with pytest.raises(ValueError, match=r"`ElmoLayer\.from_bilm`.*'o\.json'"):
        ElmoLayer("o.json", "weights.hdf5", 2)
    elmo = ElmoLayer(CharCNNEmbedding(8, [(1, 4)]), BiLMEncoder(7, 6))
    with pytest.raises(ValueError, match=r"the same size.*8 and 6"):
        elmo.build((None, None, 50))
    assert make_shallow_elmo(return_all_layers=True).mix_weights == []


def test_a_mask_of_the_wrong_shape_is_named(elmo):
    for bad in (MASK.T, MASK[:, :5], MASK[0]):
        for function in (elmo, elmo.all_layers):
            with pytest.raises(ValueError, match=r"`mask`.*\(5, 6\)"):
                function(IDS, mask=bad)
    for same in (MASK.astype("float32"), MASK.astype("int32")):
        output = elmo(IDS, mask=same)
        assert_equal(output._keras_mask, MASK)


def test_parts_of_another_dtype_give_the_layer_its_own(elmo):
    mixed = ElmoLayer(elmo.token_encoder, elmo.encoder, dtype="mixed_bfloat16")
    output = mixed(IDS)
    assert keras.backend.standardize_dtype(output.dtype) == "bfloat16"
    symbolic = mixed(keras.Input((None, 12), dtype="int32"))
    assert symbolic.dtype == "bfloat16"


@pytest.mark.in_graphs(True)
def test_a_dtype_policy_that_is_set_reaches_the_parts():
    elmo, expected = (
        make_shallow_elmo(),
        make_shallow_elmo(dtype="mixed_bfloat16"),
    )
    elmo(IDS)
    elmo.dtype_policy = "mixed_bfloat16"
    found = elmo(IDS)
    assert keras.backend.standardize_dtype(found.dtype) == "bfloat16"
    assert_equal(
        *[numpy(ops.cast(x, "float32")) for x in (found, expected(IDS))]
    )


def test_quantize_names_what_takes_its_place(elmo):
    with pytest.raises(NotImplementedError, match=r"ElmoEmbedder.*export_onnx"):
        elmo.quantize("int8")
    inputs = keras.Input((None, 12), dtype="int32")
    model = keras.Model(inputs, make_shallow_elmo()(inputs))
    with pytest.warns(UserWarning) as warned:
        model.quantize("int8")
    # Later versions of Keras print a report, without asking the layers.
    if [int(n) for n in keras.__version__.split(".")[:2]] < [3, 16]:
        assert any("ElmoEmbedder" in str(w.message) for w in warned)


def test_dropout_is_not_changed_without_effect():
    elmo = make_shallow_elmo(dropout=0.2)
    with pytest.raises(AttributeError, match="dropout"):
        elmo.dropout = 0.5
    assert elmo.get_config()["dropout"] == elmo.dropout == 0.2


def test_a_token_encoder_without_an_output_shape():
    class Numbers(keras.layers.Layer):
        boundary_ids = np.array([1, 2])
        token_shape = ()

        def build(self, input_shape):
            self.vectors = self.add_weight(shape=(9, 6), name="vectors")

        def call(self, inputs):
            return ops.take(self.vectors, inputs, axis=0)

        def compute_mask(self, inputs, previous_mask=None):
            return inputs != 0

    elmo = ElmoLayer(Numbers(), BiLMEncoder(7, 6))
    assert tuple(elmo(np.array([[3, 4, 0]])).shape) == (1, 3, 12)
