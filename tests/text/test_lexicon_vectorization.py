import keras
import numpy as np
import pytest
import tensorflow as tf
from text.lexicons import CHARACTERS
from text.lexicons import ODD_WORDS
from text.lexicons import WORDS

from keras_elmo import LexiconVectorization

AS_BYTES = [w.encode() if isinstance(w, str) else w for w in ODD_WORDS]


def random_words(number):
    """Words of the bytes of which UTF-8 is made, good and bad."""
    generator = np.random.default_rng(0)
    parts = [c.encode() for c in "abé今天x\0\N{GRINNING FACE}"]
    parts += [
        bytes([b]) for b in b"\x80\xbf\xc3\xe4\xbb\x8a\xed\xa0\xf0\x9f\xff"
    ]
    return [
        b"".join(parts[i] for i in generator.integers(0, len(parts), size))
        for size in generator.integers(0, 12, number)
    ]


@pytest.mark.parametrize("words", [None, WORDS])
@pytest.mark.parametrize("width", [3, 4, 9, 50])
def test_the_graph_makes_the_ids_of_python(width, words):
    layer = LexiconVectorization(CHARACTERS, words, width)
    sentences = [AS_BYTES, [], random_words(500)]
    expected = layer.batch_to_ids(sentences)
    assert expected.dtype == "int32"
    assert expected.shape == (3, 500, width + (words is not None))
    compiled = tf.function(layer)
    for call in (layer, compiled):
        np.testing.assert_array_equal(
            call(tf.ragged.constant(sentences)), expected
        )


def test_strings_and_their_bytes_are_the_same_words():
    layer = LexiconVectorization(CHARACTERS, WORDS, 9)
    np.testing.assert_array_equal(
        layer.batch_to_ids([ODD_WORDS]), layer.batch_to_ids([AS_BYTES])
    )
    with_surrogate = layer.batch_to_ids([["a\ud800b"]])
    np.testing.assert_array_equal(with_surrogate, layer.batch_to_ids([["ab"]]))


@pytest.mark.parametrize("width", [3, 9])
def test_a_shortened_word_has_the_same_ids(width):
    layer = LexiconVectorization(CHARACTERS, WORDS, width)
    words = AS_BYTES + random_words(500)
    shortened = [layer.shortened(word) for word in words]
    assert max(map(len, shortened)) <= 4 * width
    np.testing.assert_array_equal(
        layer.ids_of_words(shortened), layer.ids_of_words(words)
    )


def test_cropped_words_are_counted_in_code_points():
    layer = LexiconVectorization(CHARACTERS, None, 5)
    found = layer.find_cropped_words(
        [["今天今", "abab"], ["<bos>", "今天今天"]]
    )
    assert found == [(0, 1, "abab"), (1, 1, "今天今天")]


def test_config_and_file(tmp_path):
    layer = LexiconVectorization(CHARACTERS, WORDS, 9, name="ids")
    serialized = keras.saving.serialize_keras_object(layer)
    assert serialized["registered_name"] == "keras_elmo>LexiconVectorization"
    sentences = keras.Input((), dtype="string")
    model = keras.Model(sentences, layer(sentences))
    assert model.output_shape == (None, None, 10)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    lines = tf.constant(["今天  a x", "abababab"])
    np.testing.assert_array_equal(
        loaded(lines), layer.batch_to_ids([["今天", "a", "x"], ["abababab"]])
    )


def test_what_serving_needs_to_know():
    layer = LexiconVectorization(CHARACTERS, WORDS, 9)
    ids = layer.ids_of_words([*layer.boundary_words, b"a", b""])
    assert np.all(ids[:, 0] == layer.begin_id)
    assert not np.any(np.all(ids == layer.begin_id, axis=1))
    assert ids[0, 1] == 1 and ids[1, 1] == 2
    assert layer.num_ids == len(CHARACTERS) + 1
