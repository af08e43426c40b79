import pytest
import tensorflow as tf

from keras_elmo.text import word_table
from keras_elmo.text.word_table import WordTable


@pytest.mark.parametrize("eager", [True, False])
def test_many_words_in_a_graph(eager):
    words = [f"word{i}" for i in range(5000)]
    table = WordTable(words)
    look_up = table.ids_in_graph
    look_up = look_up if eager else tf.function(look_up)
    ids = look_up(tf.constant([*words[::-1], "none", "wor", ""]))
    assert ids.numpy().tolist() == [*range(5000, 0, -1), 0, 0, 0]
    assert table.get(b"word7") == 8 and table.get(b"none") is None


def test_words_of_one_hash_value_in_a_graph(monkeypatch):
    """No other word is mistaken for one of the list."""
    monkeypatch.setattr(
        word_table,
        "_hash_values",
        lambda words: tf.cast(tf.strings.length(words), tf.int64),
    )
    words = tf.constant(["b", "aa", "", "a", "ab", "ddd"])
    found = WordTable(["b", "aa", ""]).ids_in_graph(words)
    assert found.numpy().tolist() == [1, 2, 3, 0, 0, 0]
    with pytest.raises(ValueError, match="same 64-bit hash value"):
        WordTable(["b", "a"]).ids_in_graph(words)
