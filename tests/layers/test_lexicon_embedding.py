import numpy as np
import pytest
from comparisons import assert_close
from comparisons import assert_equal
from keras import ops
from small_models import randomize
from text.listed_characters import SPECIAL

from keras_elmo import CharCNNEmbedding
from keras_elmo.layers.lexicon_embedding import LexiconEmbedding

pytestmark = pytest.mark.in_graphs(False)

CHARACTERS = [*SPECIAL, *"abé今天"]
WORDS = ["<oov>", "<bos>", "<eos>", "a", "今天"]
SENTENCES = [["a", "今天", "ab" * 9, "é", ""], ["x", "今天", "a"]]


def make(words=WORDS, activation="relu", num_highways=2):
    layer = LexiconEmbedding(
        CHARACTERS,
        words,
        6,
        [(1, 3), (2, 4), (3, 5)],
        num_highways=num_highways,
        embedding_dim=4,
        word_embedding_dim=7,
        activation=activation,
        max_characters_per_token=9,
    )
    layer.build((None, *layer.token_shape))
    randomize(layer)
    return layer


def ids_of(layer, sentences=SENTENCES):
    return layer.make_vectorization().batch_to_ids(sentences)


def expected_vectors(layer, ids):
    """Computes the vectors of tokens; `CharCNNEmbedding` does the first part,
    and has an oracle of its own.
    """
    characters = CharCNNEmbedding(
        None,
        layer.filters,
        num_highways=0,
        embedding_dim=4,
        activation=layer.activation,
        max_characters_per_token=9,
    )
    characters.build(None)
    table, *filters = layer.get_weights()[:7]
    missing = characters.num_ids - 1 - len(table)
    table = np.pad(table, ((0, missing), (0, 0)))
    characters.set_weights([table, *filters])
    x = characters(ids[:, :9])
    for highway in layer.highways:
        x = highway(x)
    x = ops.convert_to_numpy(x)
    if layer.has_words:
        table = ops.convert_to_numpy(layer.word_embeddings)
        x = np.hstack([table[ids[:, 9] - 1], x])
    kernel, bias = layer.projection_kernel, layer.projection_bias
    return x @ ops.convert_to_numpy(kernel) + ops.convert_to_numpy(bias)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    ("words", "activation", "num_highways"),
    [(WORDS, "relu", 2), (None, "tanh", 1), (WORDS, "tanh", 0)],
)
def test_vectors_of_characters_and_of_listed_words(
    words, activation, num_highways, training, path_taken
):
    layer = make(words, activation, num_highways)
    ids = ids_of(layer)
    found = ops.convert_to_numpy(layer(ids, training=training))
    mask = ops.convert_to_numpy(layer.compute_mask(ids))
    assert mask.tolist() == [[True] * 5, [True] * 3 + [False] * 2]
    assert_close(found[mask], expected_vectors(layer, ids[mask]), atol=1e-5)
    assert np.all(np.isfinite(found))
    assert_equal(layer.boundary_ids, ids_of(layer, [["<bos>", "<eos>"]])[0])


def test_ids_that_cannot_be():
    layer = make()
    (ids,) = ids_of(layer, [["a"]])
    # The last one is a character's id, but not a word's.
    for place, bad in ((1, 12), (-1, 6)):
        wrong = ids.copy()
        wrong[0, place] = bad
        message = f"from 0 to 5 or 11. Received: ids from {bad} to {bad}"
        with pytest.raises(ValueError, match=message):
            layer(wrong)


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
