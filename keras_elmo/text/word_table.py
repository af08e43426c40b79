"""The words of a vocabulary, looked up in Python and in a graph."""

import numpy as np


class WordTable:
    """The ids of a vocabulary's words: one more than their places.

    Args:
        words: Iterable of words, strings or bytes. Of a word that is there
            twice the last place counts.
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
        """Returns the id of a word, bytes; `default` if it is not there."""
        return self._ids.get(word, default)

    def as_strings(self):
        """Returns the words as strings, which JSON can hold."""
        return [word.decode("utf-8", "surrogateescape") for word in self.words]

    def look_up(self, words):
        """Ids of a string tensor `(n,)`; 0 where it is no word. TensorFlow."""
        import tensorflow as tf

        hash_values, sorted_words, sorted_ids = self._in_order()
        # A sorted list stands for a hash table, which would have to be
        # initialised. The chance that two words of a million share a hash
        # value, so that one of them is not found, is below 1e-7.
        place = tf.searchsorted(hash_values, _hash_values(words))
        place = tf.minimum(place, len(self._ids) - 1)  # (n,)
        is_known = tf.gather(sorted_words, place) == words
        return tf.where(is_known, tf.gather(sorted_ids, place), 0)

    def _in_order(self):
        """Hash values, in order; and the words and the ids that they are of."""
        import tensorflow as tf

        if self._sorted is None:
            with tf.init_scope():
                words = np.array(list(self._ids), dtype=object)
                hash_values = _hash_values(tf.constant(words)).numpy()
            ids = np.array(list(self._ids.values()), "int32")
            order = np.argsort(hash_values, kind="stable")
            self._sorted = [x[order] for x in (hash_values, words, ids)]
        if not tf.executing_eagerly():  # A graph has constants of its own.
            return [tf.constant(x) for x in self._sorted]
        if self._tensors is None:
            self._tensors = [tf.constant(x) for x in self._sorted]
        return self._tensors


def _as_bytes(words):
    if isinstance(words, (str, bytes)):
        raise ValueError(
            f"`vocabulary` must be a list of words. Received: {words!r}"
        )
    found = []
    for i, word in enumerate(words):
        if isinstance(word, str):
            # What `as_strings` made of bytes that are no UTF-8.
            word = word.encode("utf-8", "surrogateescape")
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
