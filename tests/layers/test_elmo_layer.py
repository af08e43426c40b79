import functools

import keras
import numpy as np
import numpy_reference
import pytest
from comparisons import assert_close
from comparisons import assert_equal
from conftest import ON_TENSORFLOW
from fast_paths import use_fast_paths
from keras import ops
from keras.ops import convert_to_numpy as numpy
from keras.src.backend.common.masking import set_keras_mask
from small_models import make_elmo
from small_models import make_shallow_elmo
from small_models import oracle_arguments

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
BOUNDED = batch_to_ids([["<S>", *s, "</S>"] for s in SENTENCES], 12)
MASK = np.arange(6) < np.array(LENGTHS)[:, None]
FIRST = MASK & (np.arange(6) < 3)
on_jax = pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="It is about JAX."
)


@pytest.fixture(scope="module")
def elmo():
    """A model for tests that do not modify it."""
    return make_shallow_elmo()


def test_equals_the_oracle(path_taken):
    elmo = make_elmo()
    layers = numpy(elmo.all_layers(IDS))
    assert layers.shape == (5, 3, 6, 12)
    for found, ids, length in zip(layers, BOUNDED, LENGTHS):
        expected = numpy_reference.elmo_layers(
            ids[: length + 2], **oracle_arguments(elmo)
        )
        assert_close(found[:, :length], expected, atol=1e-5)
        assert np.all(found[:, length:] == 0)


@pytest.mark.parametrize("keep", [False, True])
def test_the_call_mixes_the_layers_in_its_output(keep):
    mix = ScalarMix(layer_norm=True)
    elmo = make_shallow_elmo(scalar_mix=mix, keep_sentence_boundaries=keep)
    assert elmo.scalar_mix is mix
    mask = numpy(elmo.compute_mask(IDS))
    layers = numpy(elmo.all_layers(IDS)).astype("float64")
    layers = [
        (x - x[mask].mean()) / x[mask].std() for x in np.moveaxis(layers, 1, 0)
    ]
    weights, gamma = mix.mix_weights
    expected = gamma * np.tensordot(weights, layers, 1) * mask[..., None]
    found = numpy(elmo(IDS))
    assert_close(found, expected, rtol=1e-4, atol=1e-5)
    assert np.all(found[~mask] == 0)


def test_padding_on_the_left_or_between_is_skipped(elmo):
    places = [1, 2, 4, 5, 7, 9]
    ids = np.zeros((1, 11, 12), "int32")
    ids[0, places] = IDS[0]
    output = elmo(ids)
    expected = np.zeros((11, 12))
    expected[places] = numpy(elmo(IDS[:1]))[0]
    assert_close(numpy(output)[0], expected)
    assert numpy(output._keras_mask)[0].nonzero()[0].tolist() == places


@pytest.mark.in_graphs(True)
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_the_mask_of_a_layer_before_it_counts(elmo, dtype):
    inputs = keras.Input(IDS.shape[1:], dtype=dtype)
    first_tokens = keras.layers.Lambda(
        lambda ids: ids,
        mask=lambda ids, _: ops.logical_and(
            ops.equal(ids[..., 0], 259), np.arange(6) < 3
        ),
        dtype=dtype,
    )
    model = keras.Model(inputs, elmo(first_tokens(inputs)))
    expected = numpy(elmo(IDS, mask=FIRST))
    ids = IDS.astype(dtype)
    assert_close(model.predict(ids, verbose=0), expected)
    assert_close(model(ids), expected)


def test_a_mask_by_hand_or_of_the_ids_wins(elmo):
    expected = numpy(elmo(IDS[:, :3]))
    layers = numpy(elmo.all_layers(IDS * FIRST[..., None]))
    ids = ops.convert_to_tensor(IDS)
    set_keras_mask(ids, ops.convert_to_tensor(FIRST))
    assert_equal(elmo.token_encoder(ids)._keras_mask, FIRST)
    for x, mask in ((ids, None), (IDS, FIRST), (IDS, FIRST.astype("float32"))):
        output = elmo(x, mask=mask)
        assert_close(numpy(output)[:, :3], expected)
        assert_equal(output._keras_mask, FIRST)
        assert_close(elmo.all_layers(x, mask=mask), layers)


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
    time = 6 + 2 * add - 2 * (not keep)
    assert numpy(elmo(IDS[:0])).shape == (0, time, 12)


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


@pytest.mark.parametrize("keep", [False, True])
def test_boundaries_may_be_in_the_ids_or_in_the_output(elmo, keep, path_taken):
    ours = make_shallow_elmo(keep_sentence_boundaries=keep)
    given = make_shallow_elmo(
        add_sentence_boundaries=False, keep_sentence_boundaries=keep
    )
    output, expected = given(BOUNDED), ours(IDS)
    assert_close(output, expected)
    assert_equal(output._keras_mask, expected._keras_mask)
    more, output, inner = 2 * keep, numpy(expected), numpy(elmo(IDS))
    mask = np.arange(6 + more) < np.array(LENGTHS)[:, None] + more
    assert_equal(expected._keras_mask, mask)
    assert np.all(output[~mask] == 0) and np.all(np.any(output[mask] != 0, -1))
    for i, length in enumerate(LENGTHS):
        words = output[i, keep : length + keep]
        assert_close(words, inner[i, :length], rtol=1e-6, atol=1e-7)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("keep", [True, False])
def test_symbolic_shapes_are_the_real_ones(keep):
    elmo = make_shallow_elmo(
        add_sentence_boundaries=False,
        keep_sentence_boundaries=keep,
        return_all_layers=True,
    )
    documents = IDS[None]
    symbolic = elmo(keras.Input(batch_shape=documents.shape, dtype="int32"))
    real = elmo(documents)
    assert symbolic.shape == tuple(real.shape)
    assert symbolic._keras_mask.shape == tuple(real._keras_mask.shape)
    symbolic = elmo(keras.Input((None, None, 12), dtype="int32"))
    assert symbolic.shape == (None, None, 2, None, 12)


def test_representations_start_equal_and_one_mix_may_serve_as_pattern():
    elmo = ElmoLayer(
        CharCNNEmbedding(
            6,
            [(2, 8)],
            num_highways=0,
            embedding_dim=4,
            max_characters_per_token=12,
        ),
        BiLMEncoder(7, 6),
        scalar_mix=ScalarMix(regularizer="l2", layer_norm=True, name="mix"),
        num_representations=3,
    )
    first, *others = elmo(IDS)
    for other in others:
        assert_equal(first, other)
    assert [mix.regularizer.l2 for mix in elmo.scalar_mixes] == [0.01] * 3
    assert len({mix.name for mix in elmo.scalar_mix}) == 3
    assert len(elmo.losses) == 3


@pytest.mark.in_graphs(True)
def test_stateless_call_uses_the_weights_it_is_given():
    elmo = make_shallow_elmo(return_all_layers=True)
    fresh = make_shallow_elmo(return_all_layers=True)
    before = numpy(elmo(IDS))
    assert_equal(before, elmo.all_layers(IDS))
    assert elmo.scalar_mix is None
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
def test_dropout_is_drawn_anew_in_each_call_of_training(all_layers):
    options = {"dropout": 0.5, "seed": 3, "return_all_layers": all_layers}
    elmo, again = (make_shallow_elmo(**options) for _ in range(2))
    # If gradients are needed, the biLM rounds differently in training.
    elmo.token_encoder.trainable = elmo.encoder.trainable = False
    vectors = numpy(elmo(IDS))
    assert_equal(elmo(IDS, training=False), vectors)
    draws = [numpy(elmo(IDS, training=True)) for _ in range(2)]
    for dropped in draws:
        share = np.mean(dropped[vectors != 0] == 0)
        assert 0.3 < share < 0.7
        kept = dropped != 0
        assert_close(dropped[kept], 2 * vectors[kept])
        assert_equal(numpy(again(IDS, training=True)) != 0, kept)
    assert np.any((draws[0] == 0) != (draws[1] == 0))


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
    with pytest.raises(RuntimeError, match="floating point dtype"):
        elmo.requires_grad_(True)
    twin = make()
    elmo.set_weights([w + 1 for w in elmo.get_weights()])
    twin.load_state_dict(elmo.state_dict())
    assert_equal(twin(IDS), elmo(IDS))
    plain = make_shallow_elmo()
    plain.trainable = False
    assert not plain.requires_grad_(True)(IDS).requires_grad
    plain.trainable = True
    assert plain(IDS).requires_grad


@on_jax
def test_exported_by_jax_for_any_size(elmo):
    import jax
    from jax import export

    shape = export.symbolic_shape("batch, time, 12")
    ids = jax.ShapeDtypeStruct(shape, "int32")
    run = export.export(jax.jit(lambda x: elmo(x)))(ids)
    for part in (IDS, IDS[:1, :2]):
        np.testing.assert_allclose(run.call(part), elmo(part), atol=1e-5)


@on_jax
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
    inputs = [(ids[:, :9], None), (ids, None), (ids[:1], None)]
    inputs.append((documents, mask))
    values = [variable.value for variable in elmo.variables]
    # Without the layer's own compilation, but faster than one by one.
    call = functools.partial(elmo.stateless_call, values, [])
    run = jax.jit(lambda ids, mask: call(ids, mask=mask)[0])
    expected = [run(*pair) for pair in inputs]
    runs, call = [], elmo.token_encoder.call
    elmo.token_encoder.call = lambda *a, **k: runs.append(1) or call(*a, **k)
    for number, (x, mask), wanted in zip((1, 1, 2, 3), inputs, expected):
        found = elmo(x, mask=mask)
        assert len(runs) == number
        keras.tree.map_structure(assert_close, found, wanted)


def without_graphs(call):
    use_fast_paths(False)
    try:
        return call()
    finally:
        use_fast_paths(True)


@ON_TENSORFLOW
@pytest.mark.parametrize(
    "options",
    [
        {"num_representations": 2},
        {"num_representations": 2, "trainable": False},
        {"return_all_layers": True},
        {"dtype": "mixed_bfloat16", "keep_sentence_boundaries": True},
    ],
)
@pytest.mark.in_graphs(True)
def test_eager_calls_give_what_the_portable_code_gives(options):
    elmo = make_shallow_elmo(**options)

    def call():
        outputs = []
        for number, time in ((5, 6), (1, 3), (0, 6)):
            x, kwargs = IDS[:number, :time], {}
            if "return_all_layers" in options:  # Documents, with a mask.
                x, kwargs = x[None], {"mask": FIRST[None, :number, :time]}
            outputs += keras.tree.flatten(elmo(x, **kwargs))
            masks = keras.tree.flatten(elmo.compute_mask(x, **kwargs))
            assert_equal(outputs[-1]._keras_mask, masks[-1])
        return [numpy(ops.cast(x, "float32")) for x in outputs]

    # A graph rounds less often: bfloat16 has 8 bits.
    limits = {"rtol": 2**-6, "atol": 2**-6} if "dtype" in options else {}
    for x, y, portable in zip(call(), call(), without_graphs(call)):
        assert_equal(x, y)
        assert_close(x, portable, **limits)


def test_a_token_encoder_of_ones_own_runs_in_each_call():
    runs = []

    class Numbers(keras.layers.Layer):  # It has no output shape.
        boundary_ids = np.array([1, 2])
        token_shape = ()

        def call(self, inputs):
            runs.append(1)
            return ops.one_hot(inputs, 6)

        def compute_mask(self, inputs, previous_mask=None):
            return inputs != 0

    elmo = ElmoLayer(Numbers(), BiLMEncoder(7, 6))
    ids = np.array([[3, 4, 0]])
    expected = elmo(ids)
    assert tuple(expected.shape) == (1, 3, 12)
    for _ in range(3):
        runs.clear()
        assert_equal(elmo(ids), expected)
        assert len(runs) == 1


def test_the_state_is_passed_from_call_to_call():
    elmo = make_shallow_elmo()
    inputs = keras.Input((None, 12), dtype="int32")
    state = [keras.Input((size,)) for size in (6, 7, 6, 7)]
    model = keras.Model(
        [inputs, state], elmo(inputs, initial_state=state, return_state=True)
    )
    ids = ops.convert_to_tensor(IDS)
    first, *state = model([ids, elmo.get_initial_state(len(IDS))])
    # A row of zeros starts a sentence anew.
    rows = np.arange(len(IDS))[:, None] != 1
    state = [ops.where(rows, s, ops.zeros_like(s)) for s in state]
    second, *_ = model([ids, state])
    eager, *_ = elmo(IDS, initial_state=state, return_state=True)
    assert_equal(eager._keras_mask, MASK)
    stateless = numpy(elmo(IDS))
    assert_close(first, stateless, atol=1e-5)
    assert_close(eager, second, atol=1e-5)
    assert_close(second[1], stateless[1], atol=1e-5)
    assert not np.allclose(numpy(second)[0], numpy(first)[0], atol=1e-5)


def test_a_state_of_documents_has_a_row_for_each_sentence():
    elmo = make_shallow_elmo()
    expected, *wanted = elmo(IDS, return_state=True)
    found, *state = elmo(IDS[None], return_state=True)
    for x, y in zip([found[0], *state], [expected, *wanted], strict=True):
        assert_close(x, y)
    with pytest.raises(ValueError, match="must have 4 tensors"):
        elmo(IDS, initial_state=state[:2])
    for number in (1, len(IDS) - 1):
        with pytest.raises(ValueError, match=f"Received: .*{number}, "):
            elmo(IDS, initial_state=elmo.get_initial_state(number))


@pytest.mark.exhaustive  # It takes 374 MB.
def test_the_paper_model_has_the_published_number_of_weights():
    elmo = ElmoLayer()
    elmo.build((None, None, 50))
    parts = elmo.token_encoder, elmo.encoder
    assert sum(part.count_params() for part in parts) == 93_600_848
    assert elmo.count_params() == 93_600_848 + 4  # the mix


TWO = {"num_representations": 2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_representations": 0}, "num_representations"),
        ({**TWO, "scalar_mix": [ScalarMix()]}, "must be .*=2 of them"),
        ({**TWO, "scalar_mix": "x"}, "must be a ScalarMix"),
        ({**TWO, "scalar_mix": 2 * [ScalarMix()]}, "with different names"),
        ({**TWO, "return_all_layers": True}, "the layers are not mixed"),
        ({"token_encoder": keras.layers.Dense(3)}, "boundary_ids"),
        ({"encoder": BiLMEncoder}, "`encoder` must be a Keras layer"),
        ({"token_encoder": "o.json"}, r"`token_encoder` .*`ElmoLayer\.from_b"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        ElmoLayer(**arguments)


def test_bad_calls_are_named(elmo):
    shapes = r"\(batch, time, 12\) or \(batch, sentences, time, 12\)"
    for bad in (IDS[0], IDS[None, None]):
        with pytest.raises(ValueError, match=rf"{shapes}.*=\({len(bad)}, "):
            elmo(bad)
    for bad in (MASK.T, MASK[:, :5], MASK[0]):
        for function in (elmo, elmo.all_layers):
            with pytest.raises(ValueError, match=r"`mask`.*\(5, 6\)"):
                function(IDS, mask=bad)
    with pytest.raises(ValueError, match="return_all_layers=True"):
        elmo.all_layers(keras.Input((None, 12), dtype="int32"))
    other = ElmoLayer(CharCNNEmbedding(8, [(1, 4)]), BiLMEncoder(7, 6))
    with pytest.raises(ValueError, match=r"the same size.*8 and 6"):
        other.build((None, None, 50))


@pytest.mark.in_graphs(True)
def test_a_dtype_policy_that_is_set_reaches_the_parts():
    elmo = make_shallow_elmo()
    elmo(IDS)
    # The parts keep their dtype, and the layer gives its own.
    mixed = ElmoLayer(elmo.token_encoder, elmo.encoder, dtype="mixed_bfloat16")
    symbolic = mixed(keras.Input((None, 12), dtype="int32"))
    for output in (mixed(IDS), symbolic):
        assert keras.backend.standardize_dtype(output.dtype) == "bfloat16"
    elmo.dtype_policy = "mixed_bfloat16"
    found, expected = elmo(IDS), make_shallow_elmo(dtype="mixed_bfloat16")(IDS)
    assert keras.backend.standardize_dtype(found.dtype) == "bfloat16"
    assert_equal(*(ops.cast(x, "float32") for x in (found, expected)))


def test_dropout_is_not_changed_without_effect():
    elmo = make_shallow_elmo(dropout=0.2)
    with pytest.raises(AttributeError, match="dropout"):
        elmo.dropout = 0.5
    assert elmo.get_config()["dropout"] == elmo.dropout == 0.2
