import keras
import numpy as np
import pytest
from layer_checks import run_saved_model
from reading import frequent_words
from reading import read_vectors
from reading import with_vectors
from word_layers import CharacterBiLSTM
from word_layers import WordNumbers

from keras_elmo import batch_to_ids


def test_words_are_found_by_their_ids():
    words = ["the", "rome", "Été", "long" * 20, "x"]
    layer = WordNumbers(words)
    sentence = ["The", "ROME", "été", "Été", "long" * 20, "xx", "X", "", "y"]
    ids = batch_to_ids([sentence, ["rome"]])
    numbers = keras.ops.convert_to_numpy(layer(ids))
    # Only A to Z are lower-cased.
    expected = [2, 3, 1, 4, 5, 1, 6, 1, 1]
    np.testing.assert_array_equal(numbers, [expected, [3] + [0] * 8])
    assert layer.num_words == 7


def test_each_word_of_a_large_vocabulary_has_its_number():
    words = [f"w{i}" for i in range(20_000)]
    layer = WordNumbers(words)
    others = [f"v{i}" for i in range(20_000)]
    found = keras.ops.convert_to_numpy(layer(batch_to_ids([words, others])))
    np.testing.assert_array_equal(found[0], np.arange(20_000) + 2)
    np.testing.assert_array_equal(found[1], 1)


def test_an_empty_vocabulary():
    ids = batch_to_ids([["a", "b"], ["c"]])
    found = keras.ops.convert_to_numpy(WordNumbers([])(ids))
    np.testing.assert_array_equal(found, [[1, 1], [1, 0]])


def test_characters_read_each_word_on_its_own():
    layer = CharacterBiLSTM(4, max_characters=5)
    words = ["cat", "catalogue", "catapult", "cat"]
    vectors = keras.ops.convert_to_numpy(layer(batch_to_ids([words])))[0]
    alone = keras.ops.convert_to_numpy(layer(batch_to_ids([["cat"]])))[0]
    np.testing.assert_allclose(vectors[[0, 3]], [*alone, *alone], atol=1e-6)
    assert np.abs(vectors[0] - vectors[1]).max() > 1e-3
    # Only the begin mark and four characters are read.
    np.testing.assert_allclose(vectors[1], vectors[2], atol=1e-6)


def test_saved_and_exported(tmp_path):
    ids = keras.Input((None, 50), dtype="int32")
    numbers = WordNumbers(["the", "cat"])
    embedded = keras.layers.Embedding(numbers.num_words, 3)(numbers(ids))
    x = keras.layers.Concatenate()([embedded, CharacterBiLSTM(4)(ids)])
    model = keras.Model(ids, x)
    inputs = batch_to_ids([["The", "dog"], ["cat"]])
    expected = model.predict(inputs, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(inputs, verbose=0), expected)
    if keras.backend.backend() == "tensorflow":
        model.export(tmp_path / "exported", verbose=False)
        (served,) = run_saved_model(str(tmp_path / "exported"), [inputs])
        np.testing.assert_allclose(served, expected, atol=1e-6)


def test_frequent_words():
    sentences = [["The", "cat", "the", "dog"], ["a", "DOG", "the"]]
    assert frequent_words(sentences) == ["the", "dog"]


def test_vectors_of_a_file(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("the 1 2\nof 3 -4.5\nand 5 6\n")
    known, vectors = read_vectors(path, limit=2)
    assert known == ["the", "of"]
    words, table = with_vectors(["cat", "of"], known, vectors)
    assert words == ["the", "of", "cat"]
    np.testing.assert_array_equal(table[:2], [[1, 2], [3, -4.5]])
    assert table.shape == (3, 2) and table.dtype == "float32"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1 2\nb 1\n", "line 2: there must be a word and 2 numbers"),
        ("a 1 2\nb 1 x\n", "line 2: there must be a word and 2 numbers"),
    ],
)
def test_bad_vectors_are_told(tmp_path, text, message):
    path = tmp_path / "vectors.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_vectors(path)
