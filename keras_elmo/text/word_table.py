"""Words as positions in a list, looked up in Python and in a graph."""

import numpy as np


class WordTable:
    """The ids of a list's words: their positions plus one.

    Args:
        words: List of distinct strings.
    """

    def __init__(self, words):
        self.words = words
        self._ids = {word.encode(): i for i, word in enumerate(words, start=1)}
        self._sorted = None
        self._tensors = None

    def __len__(self):
        return len(self.words)

    def get(self, word, default=None):
        """Returns the id of a word (bytes), or `default` if there is none."""
        return self._ids.get(word, default)

    def ids_in_graph(self, words):
        """Ids of a string tensor `(n,)`; 0 for unknown words. TensorFlow."""
        import tensorflow as tf

        hash_values, known, ids = self._in_order()
        index = tf.searchsorted(hash_values, _hash_values(words))
        index = tf.minimum(index, len(self._ids) - 1)
        is_known = tf.gather(known, index) == words
        return tf.where(is_known, tf.gather(ids, index), 0)  # (n,)

    def _in_order(self):
        """Returns sorted hash values, and the words and ids in that order."""
        import tensorflow as tf

        if self._sorted is None:
            with tf.init_scope():  # Computed now, not in the graph.
                words = np.array(list(self._ids), dtype=object)
                hash_values = _hash_values(tf.constant(words)).numpy()
            if len(np.unique(hash_values)) < len(words):
                raise ValueError(
                    "Two words of the list have the same 64-bit hash value; "
                    "such a list cannot be used in a graph."
                )
            ids = np.array(list(self._ids.values()), "int32")
            order = np.argsort(hash_values)
            self._sorted = [x[order] for x in (hash_values, words, ids)]
        if not tf.executing_eagerly():  # Each graph has its own constants.
            return [tf.constant(x) for x in self._sorted]
        if self._tensors is None:
            self._tensors = [tf.constant(x) for x in self._sorted]
        return self._tensors


def _hash_values(words):
    import tensorflow as tf

    return tf.bitcast(tf.fingerprint(words[:, None]), tf.int64)  # (n,)
