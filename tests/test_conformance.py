"""The same checks for every public layer."""

import inspect

import keras
import layer_checks
import numpy as np
import pytest
from comparisons import assert_equal
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
from keras_elmo.layers.lexicon_embedding import LexiconEmbedding

pytestmark = pytest.mark.in_graphs(False)

BATCH, TIME = 2, 3
SENTENCES = [["Conform", "or", "not"], ["a", "é"]]
IDS = batch_to_ids(SENTENCES, 12)
SPECIAL = ["<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"]
LISTED = {"characters": [*SPECIAL, *"Confrmé"], "words": ["<oov>", "or", "é"]}
VECTORS = np.random.default_rng(0).normal(size=(BATCH, TIME, 6))
VECTORS = VECTORS.astype("float32")
TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y", "B-Z"]


def char_cnn(**kwargs):
    return CharCNNEmbedding(
        6, [(1, 4), (3, 8)], 1, 4, max_characters_per_token=12, **kwargs
    )


def lexicon(words=True, **kwargs):
    return LexiconEmbedding(
        LISTED["characters"],
        LISTED["words"] if words else None,
        *(6, [(1, 4), (3, 8)], 1, 4, 5),
        max_characters_per_token=12,
        **kwargs,
    )


LEXICON_IDS = lexicon().make_vectorization().batch_to_ids(SENTENCES)


def elmo(token_encoder=None, **kwargs):
    dtype = kwargs.get("dtype")
    return ElmoLayer(
        token_encoder or char_cnn(dtype=dtype),
        BiLMEncoder(8, 6, num_layers=1, dtype=dtype),
        **kwargs,
    )


def in_rnn(**kwargs):
    cell = ProjectedLSTMCell(8, 6, 3.0, 3.0, dtype=kwargs.get("dtype"))
    return keras.layers.RNN(cell, return_sequences=True, **kwargs)


def scores():
    """Returns CRF scores of two tags for two sentences, the second shorter."""
    layer = CRF(2, transitions_initializer="identity")
    mask = np.array([[True, True, True], [True, True, False]])
    return keras.ops.convert_to_numpy(layer(VECTORS[..., :2] * 9, mask=mask))


# name: (constructor, input, number of weights, mask of the output)
MASK = np.array([[True, True, True], [True, True, False]])
CASES = {
    "CharCNNEmbedding": (char_cnn, IDS, 11, MASK),
    "LexiconEmbedding": (lexicon, LEXICON_IDS, 12, MASK),
    "LexiconEmbedding, characters": (
        lambda **kwargs: lexicon(words=False, **kwargs),
        LEXICON_IDS[..., :-1],
        11,
        MASK,
    ),
    "Highway": (Highway, VECTORS, 4, MASK),
    "BiLMEncoder": (
        lambda **kwargs: BiLMEncoder(8, 6, **kwargs),
        VECTORS,
        16,
        MASK,
    ),
    "ScalarMix": (ScalarMix, [VECTORS, VECTORS + 1], 2, MASK),
    "SentencePooling": (SentencePooling, VECTORS, 0, None),
    "SentencePooling, documents": (
        lambda **kwargs: SentencePooling("max", **kwargs),
        VECTORS[:, None],
        0,
        np.array([[True], [False]]),
    ),
    "ElmoLayer": (elmo, IDS, 21, MASK),
    "ElmoLayer, lexicon": (
        lambda **kwargs: elmo(
            token_encoder=lexicon(dtype=kwargs.get("dtype")), **kwargs
        ),
        LEXICON_IDS,
        22,
        MASK,
    ),
    "ElmoLayer, two representations": (
        lambda **kwargs: elmo(num_representations=2, **kwargs),
        IDS,
        23,
        MASK,
    ),
    "ElmoLayer, all layers": (
        lambda **kwargs: elmo(return_all_layers=True, **kwargs),
        IDS,
        19,
        np.stack([MASK] * 2, axis=1),
    ),
    "ElmoLayer, layer norm": (
        lambda **kwargs: elmo(
            scalar_mix=ScalarMix(
                layer_norm=True, regularizer="l2", dtype=kwargs.get("dtype")
            ),
            keep_sentence_boundaries=True,
            **kwargs,
        ),
        IDS,
        21,
        np.pad(MASK, ((0, 0), (2, 0)), constant_values=True),
    ),
    "CRF": (lambda **kwargs: CRF(6, **kwargs), VECTORS, 3, None),
    "CRF, scheme": (
        lambda **kwargs: CRF(6, TAGS, "BIO", "zeros", **kwargs),
        VECTORS,
        3,
        None,
    ),
    "CRFDecoder": (CRFDecoder, scores(), 0, None),
    "CRFDecoder, marginals": (
        lambda **kwargs: CRFDecoder(
            return_marginals=True,
            tag_names=["O", "B-X"],
            scheme="BIO",
            **kwargs,
        ),
        scores(),
        0,
        None,
    ),
    "WordVectors": (
        lambda **kwargs: WordVectors(["or", "é"], [[1.5], [2]], 12, **kwargs),
        IDS,
        0,
        MASK,
    ),
    "WordVectors, trained": (
        lambda **kwargs: WordVectors(
            ["or", "é"], [[1.5], [2]], 12, trainable=True, **kwargs
        ),
        IDS,
        1,
        MASK,
    ),
    # A cell is made for `keras.layers.RNN`, and runs in it here.
    "ProjectedLSTMCell": (in_rnn, VECTORS, 4, MASK),
}
CELLS = {"ProjectedLSTMCell"}
# Outputs whose dtype is not the compute dtype of the layer.
DTYPES = {
    "CRF": ["float32"],
    "CRF, scheme": ["float32"],
    "CRFDecoder": ["int32"],
    "CRFDecoder, marginals": ["int32", "float32"],
}
layers = pytest.mark.parametrize("name", CASES)


def one_elmo(names):
    """Parametrizes a test; of the slow `ElmoLayer` cases, only one is quick."""
    is_variant = [name.startswith("ElmoLayer,") for name in names]
    return pytest.mark.parametrize(
        "name",
        quick_first(
            sorted(names, key=lambda name: name.startswith("ElmoLayer,")),
            is_variant.count(False),
        ),
    )


def test_every_public_layer_is_here():
    public = {
        name
        for name in keras_elmo.__all__
        if isinstance(getattr(keras_elmo, name), type)
        and issubclass(getattr(keras_elmo, name), keras.layers.Layer)
        # The language model has its own tests.
        and not issubclass(getattr(keras_elmo, name), keras.Model)
    }
    # They take strings, and have their own tests.
    public -= {name for name in public if name.endswith("Vectorization")}
    public |= {"LexiconEmbedding"}  # `from_preset` creates it.
    assert public == {name.split(",")[0] for name in CASES}


@layers
def test_config_round_trip(name):
    make, x, *_ = CASES[name]
    if name in CELLS:
        layer_checks.check_config_round_trip(lambda: make().cell, x)
    else:
        layer_checks.check_config_round_trip(make, x)


@layers
def test_build_from_shape_alone(name):
    make, x, *_ = CASES[name]
    layer_checks.check_build_from_shape_alone(make, x)


@layers
def test_weight_count(name):
    make, x, number, *_ = CASES[name]
    layer_checks.check_weight_count(make, x, number)


@layers
def test_symbolic_call(name):
    make, x, *_ = CASES[name]
    layer_checks.check_symbolic_call(make, x, DTYPES.get(name))


# `keras.layers.RNN` around a cell does not carry a mask, and a decoder finds
# the mask in its scores.
UNMASKED = {*CELLS, "CRFDecoder", "CRFDecoder, marginals"}


@pytest.mark.parametrize(
    "name", [name for name in CASES if name not in UNMASKED]
)
def test_mask(name):
    make, x, _, mask = CASES[name]
    layer_checks.check_mask(make, x, mask)


# Some layers have no weights. The squared error of forbidden tags is infinite.
UNTRAINED = {
    "CRF, scheme",
    *(name for name, (_, _, number, _) in CASES.items() if number == 0),
}


@one_elmo([name for name in CASES if name not in UNTRAINED])
def test_training_step(name):
    make, x, *_ = CASES[name]
    layer_checks.check_training_step(make, x)


@one_elmo(list(CASES))
@pytest.mark.parametrize(
    "policy", quick_first(["mixed_bfloat16", "mixed_float16"])
)
def test_mixed_precision(name, policy):
    make, x, *_ = CASES[name]
    layer_checks.check_mixed_precision(make, x, policy, DTYPES.get(name))


@one_elmo(list(CASES))
def test_keras_file_round_trip(name, tmp_path):
    make, x, *_ = CASES[name]
    layer_checks.check_keras_file_round_trip(make, x, tmp_path)


@layers
@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="They are TensorFlow's."
)
def test_tensorflow_checkpoint(name, tmp_path):
    make, x, *_ = CASES[name]
    layer_checks.check_tensorflow_checkpoint(make, x, tmp_path)


# Most other layers are exported as parts of the first two.
@pytest.mark.parametrize(
    "name",
    quick_first(sorted(CASES, key=["ElmoLayer", "CRF"].__contains__)[::-1], 2),
)
@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Export is TensorFlow's."
)
def test_export(name, tmp_path):
    make, x, *_ = CASES[name]
    layer_checks.check_export(make, x, tmp_path)


# Layers that take a mask as an argument and pass it on.
TAKE_MASKS = ["BiLMEncoder", "ScalarMix", "SentencePooling, documents"]
TAKE_MASKS += [name for name in CASES if name.startswith("ElmoLayer")]


@pytest.mark.parametrize("name", TAKE_MASKS)
def test_a_mask_given_by_position_is_passed_on(name):
    make, x, *_ = CASES[name]
    layer = make()
    given = np.array([[False, True, True], [False, False, False]])
    given = given[:, None] if name.endswith("documents") else given
    names = list(inspect.signature(layer.call).parameters)
    before_it = [None] * (names.index("mask") - 1)
    given = keras.ops.convert_to_tensor(given)
    by_position = keras.tree.flatten(layer(x, *before_it, given))
    for found, expected in zip(
        by_position, keras.tree.flatten(layer(x, mask=given)), strict=True
    ):
        assert_equal(found, expected)
        assert_equal(found._keras_mask, expected._keras_mask)
        assert not keras.ops.all(expected._keras_mask)
