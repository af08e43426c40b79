import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.text import ByteSpelling
from keras_elmo.text import batch_to_ids
from keras_elmo.text import graph_tokens


def random_lines(number=300, size=12):
    """Returns lines of bytes, a third of them spaces."""
    generator = np.random.default_rng(0)
    drawn = generator.integers(0, 256, (number, size), "uint8")
    spaces = generator.random((number, size)) < 1 / 3
    lengths = generator.integers(0, size, number)
    return [
        row[:length].tobytes()
        for row, length in zip(np.where(spaces, 32, drawn), lengths)
    ]


def test_lines_of_random_bytes():
    lines = random_lines()
    expected = [[w for w in line.split(b" ") if w] for line in lines]
    assert [] in expected and max(map(len, expected)) > 3
    ragged = graph_tokens.split_sentences(tf.constant(lines))
    assert ragged.to_list() == expected
    tokens, lengths = graph_tokens.pad_tokens(ragged)
    assert lengths.dtype == tf.int32
    np.testing.assert_array_equal(lengths, list(map(len, expected)))
    np.testing.assert_array_equal(graph_tokens.count_tokens(tokens), lengths)
    np.testing.assert_array_equal(
        graph_tokens.token_ids(tokens, lengths, ByteSpelling(7).ids_in_graph),
        batch_to_ids(expected, 7),
    )


@pytest.mark.parametrize("shape", [(0, 0), (0, 2), (2, 0)])
def test_no_tokens(shape):
    tokens = tf.zeros(shape, tf.string)
    lengths = graph_tokens.count_tokens(tokens)
    np.testing.assert_array_equal(lengths, np.zeros(shape[0]))
    assert graph_tokens.check_lengths(lengths, tokens).shape == shape[:1]


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_lengths_that_can_be(dtype):
    tokens = tf.constant([["a", "b"]] * 3)
    given = tf.constant([0, 1, 2], dtype)
    lengths = graph_tokens.check_lengths(given, tokens)
    assert lengths.dtype == tf.int32
    assert graph_tokens.token_mask(tokens, lengths).numpy().tolist() == [
        [False, False],
        [True, False],
        [True, True],
    ]
