"""The same checks for every public layer."""

import functools
from typing import NamedTuple

import keras
import layer_checks
import numpy as np
import pytest
from comparisons import assert_close
from comparisons import assert_equal
from conftest import ON_TENSORFLOW
from keras import ops
from layer_checks import flat
from tiers import quick_first

import keras_elmo
from keras_elmo import CRF
from keras_elmo import BiLMEncoder
from keras_elmo import CharCNNEmbedding
from keras_elmo import CRFDecoder
from keras_elmo import ElmoLayer
from keras_elmo import Highway
from keras_elmo import ProjectedLSTMCell
from keras_elmo import ScalarMix
from keras_elmo import SentencePooling
from keras_elmo import WordVectors
from keras_elmo import batch_to_ids
from keras_elmo.layers.base_layers import IdLayer
from keras_elmo.layers.lexicon_embedding import LexiconEmbedding

pytestmark = pytest.mark.in_graphs(False)
partial = functools.partial

SENTENCES = [["Conform", "or", "not"], ["a", "é"]]
IDS = batch_to_ids(SENTENCES, 12)
MASK = np.array([[True, True, True], [True, True, False]])
SPECIAL = ["<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"]
CNN = {
    "projection_dim": 6,
    "filters": [(1, 4), (3, 8)],
    "num_highways": 1,
    "embedding_dim": 4,
    "max_characters_per_token": 12,
}
VECTORS = np.random.default_rng(0).normal(size=(2, 3, 6)).astype("float32")
TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y", "B-Z"]

char_cnn = partial(CharCNNEmbedding, **CNN)


def lexicon(words=("<oov>", "or", "é"), **kwargs):
    return LexiconEmbedding(
        [*SPECIAL, *"Confrmé"],
        words and [*words],
        word_embedding_dim=5,
        **CNN,
        **kwargs,
    )


LEXICON_IDS = lexicon().make_vectorization().batch_to_ids(SENTENCES)


def elmo(make_token_encoder=char_cnn, dtype=None, **kwargs):
    return ElmoLayer(
        make_token_encoder(dtype=dtype),
        BiLMEncoder(8, 6, num_layers=1, dtype=dtype),
        dtype=dtype,
        **kwargs,
    )


def normalized_elmo(dtype=None, **kwargs):
    mix = ScalarMix(layer_norm=True, regularizer="l2", dtype=dtype)
    kwargs = {"keep_sentence_boundaries": True, **kwargs}
    return elmo(scalar_mix=mix, dtype=dtype, **kwargs)


def in_rnn(**kwargs):
    """A cell is made for `keras.layers.RNN`, and runs in it here."""
    cell = ProjectedLSTMCell(8, 6, 3.0, 3.0, dtype=kwargs.get("dtype"))
    return keras.layers.RNN(cell, return_sequences=True, **kwargs)


def scores():
    """Returns CRF scores of two tags for two sentences, the second shorter."""
    layer = CRF(2, transitions_initializer="identity")
    return ops.convert_to_numpy(layer(VECTORS[..., :2] * 9, mask=MASK))


class Case(NamedTuple):
    make: object
    x: object
    num_weights: int
    mask: object = MASK  # of the output
    dtypes: object = None  # of the outputs, if not the layer's compute dtype


decoder = partial(CRFDecoder, tag_names=["O", "B-X"], scheme="BIO")
vectors = partial(
    WordVectors, ["or", "é"], [[1.5], [2]], max_characters_per_token=12
)
documents = np.array([[True], [False]])
with_ends = np.pad(MASK, ((0, 0), (2, 0)), constant_values=True)
both, whole = ["int32", "float32"], ["float32"]
CASES = {
    "CharCNNEmbedding": Case(char_cnn, IDS, 11),
    "LexiconEmbedding": Case(lexicon, LEXICON_IDS, 12),
    "LexiconEmbedding, characters": Case(
        partial(lexicon, None), LEXICON_IDS[..., :-1], 11
    ),
    "Highway": Case(Highway, VECTORS, 4),
    "BiLMEncoder": Case(partial(BiLMEncoder, 8, 6), VECTORS, 16),
    "ScalarMix": Case(ScalarMix, [VECTORS, VECTORS + 1], 2),
    "SentencePooling": Case(SentencePooling, VECTORS, 0, None),
    "SentencePooling, documents": Case(
        partial(SentencePooling, "max"), VECTORS[:, None], 0, documents
    ),
    "CRF": Case(partial(CRF, 6), VECTORS, 3, None, whole),
    "CRF, scheme": Case(
        partial(CRF, 6, TAGS, "BIO", transitions_initializer="zeros"),
        VECTORS,
        3,
        None,
        whole,
    ),
    "CRFDecoder": Case(CRFDecoder, scores(), 0, None, ["int32"]),
    "CRFDecoder, marginals": Case(
        partial(decoder, return_marginals=True), scores(), 0, None, both
    ),
    "WordVectors": Case(vectors, IDS, 0),
    "WordVectors, trained": Case(partial(vectors, trainable=True), IDS, 1),
    "ProjectedLSTMCell": Case(in_rnn, VECTORS, 4),
    "ElmoLayer": Case(elmo, IDS, 21),
    "ElmoLayer, lexicon": Case(partial(elmo, lexicon), LEXICON_IDS, 22),
    "ElmoLayer, two representations": Case(
        partial(elmo, num_representations=2), IDS, 23
    ),
    "ElmoLayer, all layers": Case(
        partial(elmo, return_all_layers=True), IDS, 19, np.stack([MASK] * 2, 1)
    ),
    "ElmoLayer, layer norm": Case(normalized_elmo, IDS, 21, with_ends),
}


layers = pytest.mark.parametrize("name", CASES)


def without(unlike=()):
    """Parametrizes a test; of the slow `ElmoLayer` cases, only one is quick."""
    names = [name for name in CASES if name not in unlike]
    return pytest.mark.parametrize("name", quick_first(names, len(names) - 4))


def test_every_public_layer_is_here():
    public = {"LexiconEmbedding"}  # `from_preset` creates it.
    for name in keras_elmo.__all__:
        kinds = getattr(getattr(keras_elmo, name), "__mro__", ())
        if keras.layers.Layer in kinds and keras.Model not in kinds:
            public.add(name)
    # It takes strings. It has its own tests, as the language model has.
    public.remove("WordVectorization")
    assert public == {name.split(",")[0] for name in CASES}


@layers
def test_configuration_weights_and_shapes(name):
    make, x, num_weights, _, dtypes = CASES[name]
    alone = (lambda: make().cell) if make is in_rnn else make
    layer_checks.check_config_round_trip(alone, x)
    layer_checks.check_build_from_shape_alone(make, x)
    layer_checks.check_weight_count(make, x, num_weights)
    layer_checks.check_symbolic_call(make, x, dtypes)


@layers
def test_errors_name_the_layer(name):
    layer = CASES[name].make(name="my_layer")
    inputs, told = [np.ones(3, "int32")], f"my_layer|{type(layer).__name__}"
    if isinstance(layer, IdLayer):
        told = "'my_layer'"
        inputs += [["a"], np.array([["a"]]), keras.Input((2,), dtype="string")]
    for bad in inputs:
        with pytest.raises((ValueError, IndexError), match=told) as info:
            layer(bad)
        is_of_strings = bad is not inputs[0]
        assert is_of_strings == ("`WordVectorization`" in str(info.value))


# Scores are never integers. `BiLMEncoder` casts all inputs, for half precision.
@pytest.mark.parametrize(
    "name",
    [
        name
        for name, case in CASES.items()
        if keras.tree.flatten(case.x)[0].dtype == "float32"
        and not name.startswith(("CRFDecoder", "BiLMEncoder"))
    ],
)
def test_integers_are_computed_in_the_compute_dtype(name):
    make, x, *_ = CASES[name]
    layer = make()
    x = keras.tree.map_structure(lambda x: (3 * x).astype("int32"), x)
    exact = keras.tree.map_structure(lambda x: x.astype("float32"), x)
    found, expected = keras.tree.flatten(layer(x)), flat(layer(exact))
    for output, value in zip(found, expected, strict=True):
        assert_equal(output, value)
        dtype = keras.backend.standardize_dtype(output.dtype)
        assert dtype == layer.compute_dtype


def masked(x):
    """Returns `x` with the last token of the last sentence masked."""
    if x.dtype != "float32":
        return x  # The ids have padding there.
    if isinstance(x, np.ndarray):
        x = x.copy()
        x[-1, -1] = 0
    return keras.layers.Masking()(x)


# `keras.layers.RNN` around a cell does not carry a mask, and a decoder finds
# the mask in its scores.
@pytest.mark.parametrize(
    "name", [n for n in CASES if not n.startswith(("Projected", "CRFDec"))]
)
def test_mask(name):
    make, x, _, expected, _ = CASES[name]
    layer = make()
    assert layer.supports_masking
    for inputs in (x, layer_checks.symbolic_input(x)):
        outputs = layer(keras.tree.map_structure(masked, inputs))
        for output in keras.tree.flatten(outputs):
            mask = getattr(output, "_keras_mask", None)
            assert (mask is None) == (expected is None)
            if inputs is x and expected is not None:
                assert_equal(mask, expected)
            elif expected is not None:
                assert tuple(mask.shape) == expected.shape


# Some layers have no weights. The squared error of forbidden tags is infinite.
@without({"CRF, scheme", *(n for n, case in CASES.items() if case[2] == 0)})
def test_training_step(name):
    make, x, *_ = CASES[name]
    layer = make()
    model = layer_checks.model_of(layer, x)
    targets = [np.zeros_like(output) for output in flat(layer(x))]
    # Keras traces the first step of Adam twice, because it creates variables.
    model.compile("sgd", ["mse"] * len(targets))
    size = len(keras.tree.flatten(x)[0])
    history = model.fit(x, targets, epochs=2, batch_size=size, verbose=0)
    first, second = history.history["loss"]
    assert second < first


@without()
@pytest.mark.parametrize(
    "policy", quick_first(["mixed_bfloat16", "mixed_float16"])
)
def test_mixed_precision(name, policy):
    make, x, _, _, dtypes = CASES[name]
    layer, exact = make(dtype=policy), make()
    expected = flat(exact(x))
    layer.build(layer_checks.build_shape(x))
    layer.set_weights(exact.get_weights())
    outputs = keras.tree.flatten(layer(x))
    compute_dtype = keras.DTypePolicy(policy).compute_dtype
    dtypes = dtypes or [compute_dtype] * len(outputs)
    for output, value, dtype in zip(outputs, expected, dtypes, strict=True):
        assert keras.backend.standardize_dtype(output.dtype) == dtype
        output = ops.convert_to_numpy(ops.cast(output, "float32"))
        assert np.abs(output - value).max() <= 3e-2 * np.abs(value).max()
    assert all(v.dtype == "float32" for v in layer.trainable_weights)


@without()
def test_keras_file_round_trip(name, tmp_path):
    make, x, *_ = CASES[name]
    layer_checks.check_keras_file_round_trip(make, x, tmp_path)


@layers
@ON_TENSORFLOW
def test_tensorflow_checkpoint(name, tmp_path):
    import tensorflow as tf

    make, x, *_ = CASES[name]
    saved, restored = make(), make()
    saved(x), restored(x)
    for number, weight in enumerate(saved.weights):
        weight.assign(ops.ones_like(weight) * number)
    path = tf.train.Checkpoint(layer=saved).save(str(tmp_path / "saved"))
    tf.train.Checkpoint(layer=restored).restore(path).assert_consumed()
    for a, b in zip(saved.get_weights(), restored.get_weights(), strict=True):
        assert_equal(a, b)


# Most other layers are exported as parts of the first two.
@pytest.mark.parametrize(
    "name",
    quick_first(sorted(CASES, key=["ElmoLayer", "CRF"].__contains__)[::-1], 2),
)
@ON_TENSORFLOW
def test_export(name, tmp_path):
    make, x, *_ = CASES[name]
    layer_checks.check_export(make, x, tmp_path)


# `CRF` refuses it itself, and the others as layers of ids.
@pytest.mark.filterwarnings("ignore:You are saving")
@pytest.mark.parametrize("name", ["CRF", "CharCNNEmbedding", "ElmoLayer"])
def test_the_former_format_of_keras_is_refused(name, tmp_path):
    make, x, *_ = CASES[name]
    inner = layer_checks.model_of(make(), x)
    for model in (inner, layer_checks.model_of(inner, x)):
        with pytest.raises(ValueError, match=r'`model.save\("model.keras"\)`'):
            model.save(tmp_path / "model.h5")
        model.save_weights(tmp_path / "model.weights.h5")


# Layers that take a mask as an argument and pass it on.
TAKE_MASKS = ["BiLMEncoder", "ScalarMix", "SentencePooling, documents"]
TAKE_MASKS += [name for name in CASES if name.startswith("ElmoLayer")]


@pytest.mark.parametrize("name", TAKE_MASKS)
def test_a_mask_is_passed_on_and_taken_in_a_model(name):
    make, x, *_ = CASES[name]
    layer = make()
    mask = np.array([[False, True, True], [False, False, False]])
    mask = mask[:, None] if name.endswith("documents") else mask
    expected = keras.tree.flatten(layer.compute_mask(x, mask))
    found = keras.tree.flatten(layer(x, mask=ops.convert_to_tensor(mask)))
    for output, output_mask in zip(found, expected, strict=True):
        assert_equal(output._keras_mask, output_mask)
        assert not ops.all(output._keras_mask)
    inputs = layer_checks.symbolic_input([x, mask])
    model = keras.Model(inputs, layer(inputs[0], mask=inputs[1]))
    for output, other in zip(found, flat(model([x, mask])), strict=True):
        assert_close(other, output)


@layers
def test_what_follows_the_inputs_is_passed_by_name(name):
    """In `keras.layers.LSTM`, the arguments are in another order, and Keras
    gives outputs a mask only if it is passed by name."""
    make, x, *_ = CASES[name]
    if make is not in_rnn:  # Keras calls the cell.
        with pytest.raises(TypeError, match=r"too many|takes 2 positional"):
            make()(x, None)
