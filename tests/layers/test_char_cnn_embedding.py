import numpy as np
import numpy_reference
import pytest
from backend_gradients import weight_gradients
from comparisons import assert_close
from comparisons import assert_equal
from keras import ops
from small_models import make_elmo
from small_models import oracle_arguments
from small_models import randomize

from keras_elmo import CharCNNEmbedding
from keras_elmo import batch_to_ids

pytestmark = pytest.mark.in_graphs(False)

WORDS = ["a", "Hello", "", "naïve", "東京", "🙂", "long-long-word", "<S>"]


def check_oracle(elmo, ids):
    arguments = oracle_arguments(elmo)
    arrays, cnn = arguments["arrays"], arguments["cnn"]
    expected = [numpy_reference.encode_token(x, arrays, **cnn) for x in ids]
    assert_close(elmo.token_encoder(ids), expected, atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"num_highways": 0, "activation": "tanh"},
        {"projection_dim": None},
        {"projection_dim": 12},  # equal to the number of filters
        {"filters": [(12, 3), (1, 2)]},  # as wide as a token
        {"max_characters_per_token": 3},
    ],
)
def test_equals_the_oracle(options, path_taken):
    elmo = make_elmo(options)
    width = elmo.token_encoder.max_characters_per_token
    check_oracle(elmo, batch_to_ids([WORDS], width)[0])


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("length", [0, 1, 9, 10, 11, 12])
def test_ends_of_any_length_and_ids_that_repeat(length, path_taken):
    generator = np.random.default_rng(length)
    ids = np.full((4, 12), [[261], [5], [0], [261]], dtype="int32")
    ids[:, :length] = generator.integers(1, 262, size=(4, length))
    check_oracle(make_elmo(), ids)


def test_any_leading_shape(path_taken):
    layer = make_elmo().token_encoder
    ids = batch_to_ids([WORDS], 12)[0]  # (8, 12)
    vectors = ops.convert_to_numpy(layer(ids))
    found = layer(ids.reshape(2, 1, 2, 2, 12))
    assert_equal(found, vectors.reshape(2, 1, 2, 2, 6))
    assert_close(layer(ids[1]), vectors[1])


@pytest.mark.slow_on_jax
@pytest.mark.parametrize(
    ("number", "longest"), [(20, 3), (20, 12), (1, 5), (5, 4)]
)
def test_training_gives_the_same_vectors_and_gradients(
    number, longest, path_taken
):
    layer = make_elmo().token_encoder
    generator = np.random.default_rng(0)
    ids = np.full((number, 12), 261, "int32")
    lengths = generator.integers(1, longest + 1, size=number)
    lengths[number // 2] = longest
    for row, length in zip(ids, lengths):
        row[:length] = generator.integers(1, 261, size=length)

    def loss(vectors):
        return ops.sum(ops.sin(vectors))

    expected_loss, expected = weight_gradients(layer, loss, ids)
    found_loss, found = weight_gradients(layer, loss, ids, training=True)
    assert found_loss == pytest.approx(expected_loss, rel=1e-6)
    for path, gradient in found.items():
        limit = 1e-6 * np.abs(expected[path]).max()
        assert_close(gradient, expected[path], atol=limit)


def test_frequent_characters_have_exact_gradients_in_half_precision():
    words = [letter + "a" * length for letter in "bcde" for length in range(9)]
    ids = np.tile(batch_to_ids([words], 12)[0], (40, 1))
    ids[:, 1] = np.arange(len(ids)) % 200 + 1  # So that all words are distinct.

    def gradient(dtype):
        layer = CharCNNEmbedding(
            None,
            [(1, 8), (3, 8)],
            num_highways=0,
            max_characters_per_token=12,
            dtype=dtype,
        )
        layer.build((None, 12))
        randomize(layer, 1.0)
        _, found = weight_gradients(
            layer, lambda x: ops.sum(ops.cast(x, "float32")), ids, training=True
        )
        return found[layer.embeddings.path]

    expected = gradient("float32")
    difference = gradient("mixed_bfloat16") - expected
    assert np.linalg.norm(difference) < 0.02 * np.linalg.norm(expected)


def test_bad_filters_are_named():
    for filters in ([], [(13, 4)], [(0, 4)], [(1, 0)], [("1", 4)], [1, 2], 3):
        with pytest.raises(ValueError, match="filters"):
            CharCNNEmbedding(filters=filters, max_characters_per_token=12)
