"""Words as positions in a list, looked up in Python and in a graph."""

import functools

import numpy as np


class WordTable:
    """The ids of a list's words: their positions plus one.

    Args:
        words: List of distinct strings.
    """

    def __init__(self, words):
        self.words = words
        self.ids = {word.encode(): i for i, word in enumerate(words, start=1)}
        """Dictionary from words, as bytes, to ids."""

    def ids_in_graph(self, words):
        """Ids of a string tensor `(n,)`; 0 for unknown words. TensorFlow."""
        import tensorflow as tf

        is_eager = tf.executing_eagerly()  # Each graph has its own constants.
        parts = self._tensors if is_eager else map(tf.constant, self._sorted)
        hash_values, known, ids = parts
        index = tf.searchsorted(hash_values, _hash_values(words))
        index = tf.minimum(index, len(self.ids) - 1)
        is_known = tf.gather(known, index) == words
        return tf.where(is_known, tf.gather(ids, index), 0)  # (n,)

    @functools.cached_property
    def _tensors(self):
        import tensorflow as tf

        return [*map(tf.constant, self._sorted)]

    @functools.cached_property
    def _sorted(self):
        """Arrays: sorted hash values, and the words and ids in that order."""
        import tensorflow as tf

        words = np.array(list(self.ids), dtype=object)
        with tf.init_scope():  # Computed now, not in the graph.
            hash_values = _hash_values(tf.constant(words)).numpy()
        if len(np.unique(hash_values)) < len(words):
            raise ValueError(
                "Two words of the list have the same 64-bit hash value; such a "
                "list cannot be used in a graph."
            )
        order = np.argsort(hash_values)
        return hash_values[order], words[order], order.astype("int32") + 1


def _hash_values(words):
    import tensorflow as tf

    return tf.bitcast(tf.fingerprint(words[:, None]), tf.int64)  # (n,)
