"""Lookup of a vocabulary's words, in Python and in a graph."""

import numpy as np

from keras_elmo.ops.hashed_table import find_entries
from keras_elmo.ops.hashed_table import sort_by_hash


class WordTable:
    """The ids of a vocabulary's words: their positions plus one.

    Args:
        words: Iterable of words, strings or bytes. For duplicates, the last
            position is used.
    """

    def __init__(self, words):
        self.words = _as_bytes(words)
        self._ids = {word: i for i, word in enumerate(self.words, start=1)}
        self._sorted = None
        self._tensors = None

    @classmethod
    def of(cls, words):
        """Returns `words` if it is a table, or the table of the words."""
        return words if isinstance(words, cls) else cls(words)

    def __len__(self):
        return len(self.words)

    def get(self, word, default=None):
        """Returns the id of a word (bytes), or `default` if there is none."""
        return self._ids.get(word, default)

    def as_strings(self):
        """Returns the words as strings that fit JSON."""
        return [as_string(word) for word in self.words]

    def ids_in_graph(self, words):
        """Ids of a string tensor `(n,)`; 0 for unknown words. TensorFlow."""
        import tensorflow as tf

        hash_values, known, ids = self._in_order()
        place, is_known = find_entries(
            hash_values,
            _hash_values(words),
            lambda place: tf.gather(known, place) == words,
        )
        return tf.where(is_known, tf.gather(ids, place), 0)  # (n,)

    def _in_order(self):
        """Returns sorted hash values, and the words and ids in that order."""
        import tensorflow as tf

        if self._sorted is None:
            with tf.init_scope():  # Computed now, not in the graph.
                words = np.array(list(self._ids), dtype=object)
                hash_values = _hash_values(tf.constant(words)).numpy()
            ids = np.array(list(self._ids.values()), "int32")
            order = sort_by_hash(hash_values)
            self._sorted = [x[order] for x in (hash_values, words, ids)]
        if not tf.executing_eagerly():  # Each graph has its own constants.
            return [tf.constant(x) for x in self._sorted]
        if self._tensors is None:
            self._tensors = [tf.constant(x) for x in self._sorted]
        return self._tensors


def as_bytes(word):
    """Returns a word's bytes: its UTF-8, or the inverse of `as_string`."""
    if isinstance(word, str):
        return word.encode("utf-8", "surrogateescape")
    return word


def as_string(word):
    """Returns any bytes as a string that fits JSON."""
    return word.decode("utf-8", "surrogateescape")


def _as_bytes(words):
    if isinstance(words, (str, bytes)):
        raise ValueError(
            f"`vocabulary` must be a list of words. Received: {words!r}"
        )
    found = []
    for i, word in enumerate(words):
        word = as_bytes(word)
        if not isinstance(word, bytes):
            raise ValueError(
                "`vocabulary` must be a list of words, strings or bytes. "
                f"Received as word {i}: {word!r}"
            )
        found.append(bytes(word))
    if not found:
        raise ValueError("`vocabulary` must hold words. Received: none")
    return found


def _hash_values(words):
    import tensorflow as tf

    return tf.bitcast(tf.fingerprint(words[:, None]), tf.int64)  # (n,)
