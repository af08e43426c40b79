import keras
import numpy as np
import pytest
from comparisons import assert_close
from comparisons import assert_equal
from keras import ops
from keras.src.backend.common.masking import set_keras_mask
from small_models import randomize

from keras_elmo import BiLMEncoder
from keras_elmo import ElmoLayer
from keras_elmo.layers.lexicon_embedding import LexiconEmbedding
from keras_elmo.ops.private_keras import get_mask

pytestmark = pytest.mark.in_graphs(False)

SPECIAL = ["<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"]
CHARACTERS = [*SPECIAL, *"abé今天"]
WORDS = ["<oov>", "<bos>", "<eos>", "a", "今天"]
SENTENCES = [["a", "今天", "ab" * 9, "é", ""], ["x", "今天", "a"]]


def make(words=WORDS, activation="relu", num_highways=2, **kwargs):
    layer = LexiconEmbedding(
        CHARACTERS,
        words,
        projection_dim=6,
        filters=[(1, 3), (2, 4), (3, 5)],
        num_highways=num_highways,
        embedding_dim=4,
        word_embedding_dim=7,
        activation=activation,
        max_characters_per_token=9,
        **kwargs,
    )
    layer.build((None, *layer.token_shape))
    randomize(layer)
    return layer


def ids_of(layer, sentences=SENTENCES):
    return layer.make_vectorization().batch_to_ids(sentences)


def oracle(layer, ids):
    """Computes the vector of one token, in float64."""

    def array(variable):
        return ops.convert_to_numpy(variable).astype("float64")

    activate = {"relu": lambda x: np.maximum(x, 0), "tanh": np.tanh}[
        keras.activations.serialize(layer.activation)
    ]
    e = array(layer.embeddings)[ids[:9] - 1]  # (chars, dim)
    x = []
    for kernel, bias in zip(layer.conv_kernels, layer.conv_biases):
        kernel = array(kernel)  # (width, dim, number)
        windows = [
            np.einsum("wd,wdn->n", e[i : i + len(kernel)], kernel)
            for i in range(10 - len(kernel))
        ]
        x.append(activate(np.max(windows, axis=0) + array(bias)))
    x = np.concatenate(x)
    for h in layer.highways:
        carry = x @ array(h.carry_kernel) + array(h.carry_bias)
        carry = 1 / (1 + np.exp(-carry))
        new = x @ array(h.transform_kernel) + array(h.transform_bias)
        x = carry * np.maximum(new, 0) + (1 - carry) * x
    if layer.has_words:
        x = np.concatenate([array(layer.word_embeddings)[ids[9] - 1], x])
    return x @ array(layer.projection_kernel) + array(layer.projection_bias)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    ("words", "activation", "num_highways"),
    [(WORDS, "relu", 2), (None, "tanh", 1), (WORDS, "tanh", 0)],
)
def test_against_numpy(words, activation, num_highways, training, path_taken):
    layer = make(words, activation, num_highways)
    ids = ids_of(layer)
    found = ops.convert_to_numpy(layer(ids, training=training))
    mask = ops.convert_to_numpy(layer.compute_mask(ids))
    assert mask.tolist() == [[True] * 5, [True] * 3 + [False] * 2]
    expected = [oracle(layer, row) for row in ids[mask]]
    assert_close(found[mask], expected, atol=1e-5)
    assert np.all(np.isfinite(found))


def test_word_and_characters_both_count():
    layer = make()
    both, listed, other = ids_of(layer, [["a", "今天", "a"]])[0]
    other = np.concatenate([listed[:-1], both[-1:]])
    vectors = ops.convert_to_numpy(layer(np.stack([both, listed, other])))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert np.abs(vectors[i] - vectors[j]).max() > 0.01


def test_boundaries_are_the_marks():
    layer = make()
    assert_equal(layer.boundary_ids, ids_of(layer, [["<bos>", "<eos>"]])[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda ids: ids[..., :-1], r"takes ids of shape \(..., 10\)"),
        (lambda ids: ids + 0.5, "integer ids"),
        (lambda ids: np.where(ids == 4, -1, ids), "Received: ids from -1"),
        (
            lambda ids: np.where(ids == 4, 12, ids),
            "Received: ids from 12 to 12",
        ),
        (
            # A valid character id, but not a valid word id.
            lambda ids: np.concatenate([ids[..., :-1], ids[..., :1]], axis=-1),
            "takes integer ids from 0 to 5 or 11. Received: ids from 6 to 6",
        ),
    ],
)
def test_ids_that_cannot_be(change, message):
    layer = make()
    with pytest.raises(ValueError, match=message):
        layer(change(ids_of(layer)))


def test_the_mask_that_ids_carry_counts():
    layer = make()
    elmo = ElmoLayer(layer, BiLMEncoder(8, 6))
    ids = ops.convert_to_tensor(ids_of(layer))
    mask = np.arange(5) < [[2], [1]]
    expected = elmo(ids, mask=mask)
    set_keras_mask(ids, ops.convert_to_tensor(mask))
    output = elmo(ids)
    assert_close(output, expected)
    assert_equal(get_mask(output), mask)
    assert_equal(get_mask(layer(ids)), mask)
    assert_close(elmo.all_layers(ids), elmo.all_layers(ids, mask=mask))


class _FirstTokens(keras.layers.Layer):
    """Masks all tokens but the first two."""

    supports_masking = True

    def call(self, inputs):
        return inputs

    def compute_mask(self, inputs, mask=None):
        is_first = ops.arange(inputs.shape[1]) < 2
        return ops.logical_and(is_first, ops.not_equal(inputs[..., 0], 0))


@pytest.mark.in_graphs(True)
def test_the_mask_of_a_layer_before_it_counts_in_graphs():
    layer = make()
    elmo = ElmoLayer(layer, BiLMEncoder(8, 6))
    inputs = keras.Input((5, 10), dtype="int32")
    model = keras.Model(inputs, elmo(_FirstTokens(dtype="int32")(inputs)))
    ids = ids_of(layer)
    expected = elmo(ids, mask=np.arange(5) < [[2], [2]])
    assert_close(model.predict(ids, verbose=0), expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"characters": SPECIAL[:-1]}, "Missing from the 5 entries: <eow>"),
        ({"words": ["a"]}, "`words` must contain <oov>"),
        ({"projection_dim": None}, "`projection_dim` must be an integer"),
        ({"word_embedding_dim": 0}, "`word_embedding_dim` must be an integer"),
        ({"max_characters_per_token": 2}, "`max_characters_per_token` must"),
        ({"filters": [(51, 2)]}, "`filters` must be pairs"),
    ],
)
def test_arguments_that_cannot_be(arguments, message):
    with pytest.raises(ValueError, match=message):
        LexiconEmbedding(**{"characters": CHARACTERS, **arguments})


def test_the_files_of_bilm_tf_cannot_hold_it(tmp_path):
    elmo = ElmoLayer(make(), BiLMEncoder(8, 6))
    elmo.build((None, None, 10))
    with pytest.raises(ValueError, match=r"Only a model with a `CharCNN.*Lexi"):
        elmo.save_to_bilm(tmp_path / "o.json", tmp_path / "w.hdf5")
    assert list(tmp_path.iterdir()) == []
