import keras
import numpy as np
import numpy_reference
import pytest
from comparisons import assert_close
from comparisons import assert_equal
from keras import ops
from small_models import randomize
from text.listed_characters import SPECIAL

from keras_elmo import BiLMEncoder
from keras_elmo import ElmoLayer
from keras_elmo.layers.lexicon_embedding import LexiconEmbedding

pytestmark = pytest.mark.in_graphs(False)

CHARACTERS = [*SPECIAL, *"abé今天"]
WORDS = ["<oov>", "<bos>", "<eos>", "a", "今天"]
SENTENCES = [["a", "今天", "ab" * 9, "é", ""], ["x", "今天", "a"]]
ACTIVATIONS = {"relu": lambda x: np.maximum(x, 0), "tanh": np.tanh}


def make(words=WORDS, activation="relu", num_highways=2):
    layer = LexiconEmbedding(
        CHARACTERS,
        words,
        *(6, [(1, 3), (2, 4), (3, 5)], num_highways, 4, 7, activation, 9),
    )
    layer.build((None, *layer.token_shape))
    randomize(layer)
    return layer


def ids_of(layer, sentences=SENTENCES):
    return layer.make_vectorization().batch_to_ids(sentences)


def oracle(layer, ids):
    """Computes the vector of one token, in float64."""

    def arrays(*variables):
        return [ops.convert_to_numpy(v).astype("float64") for v in variables]

    (table,) = arrays(layer.embeddings)
    activate = ACTIVATIONS[keras.activations.serialize(layer.activation)]
    e = table[ids[:9] - 1]  # (chars, dim)
    x = []
    for kernel, bias in zip(layer.conv_kernels, layer.conv_biases):
        kernel, bias = arrays(kernel, bias)  # (width, dim, number)
        windows = [
            np.tensordot(e[i : i + len(kernel)], kernel, 2)
            for i in range(10 - len(kernel))
        ]
        x.append(activate(np.max(windows, axis=0) + bias))
    x = np.concatenate(x)
    for h in layer.highways:
        carry = arrays(h.carry_kernel, h.carry_bias)
        new = arrays(h.transform_kernel, h.transform_bias)
        x = numpy_reference.highway(x, carry, new)
    if layer.has_words:
        (table,) = arrays(layer.word_embeddings)
        x = np.concatenate([table[ids[9] - 1], x])
    kernel, bias = arrays(layer.projection_kernel, layer.projection_bias)
    return x @ kernel + bias


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


def test_boundaries_are_the_marks():
    layer = make()
    assert_equal(layer.boundary_ids, ids_of(layer, [["<bos>", "<eos>"]])[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda ids: ids[..., :-1], r"takes ids of shape \(..., 10\)"),
        (lambda ids: np.where(ids == 4, -1, ids), "Received: ids from -1"),
        (lambda ids: np.where(ids == 4, 12, ids), "ids from 12 to 12"),
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
