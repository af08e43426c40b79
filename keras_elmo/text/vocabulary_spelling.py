"""Words as positions in a vocabulary, looked up in Python and in a graph."""

import functools
from collections.abc import Sequence

import keras
import numpy as np

from keras_elmo.text.spelling import Spelling


class WordTable:
    """The ids of a vocabulary's words: their positions plus one.

    Args:
        words: Iterable of words, strings or bytes. For duplicates, the last
            position is used.
    """

    def __init__(self, words):
        self.words = _checked_words(words)
        self._ids = {word: i for i, word in enumerate(self.words, start=1)}
        self._sorted = None
        self._tensors = None

    def __len__(self):
        return len(self.words)

    def get(self, word, default=None):
        """Returns the id of a word (bytes), or `default` if there is none."""
        return self._ids.get(word, default)

    def as_strings(self):
        """Returns the words as strings that fit JSON."""
        return [_as_string(word) for word in self.words]

    def ids_in_graph(self, words):
        """Ids of a string tensor `(n,)`; 0 for unknown words. TensorFlow."""
        import tensorflow as tf

        hash_values, known, ids = self._in_order()
        place = tf.searchsorted(hash_values, _hash_values(words))
        place = tf.minimum(place, len(self._ids) - 1)
        is_known = tf.gather(known, place) == words
        return tf.where(is_known, tf.gather(ids, place), 0)  # (n,)

    def _in_order(self):
        """Returns sorted hash values, and the words and ids in that order."""
        import tensorflow as tf

        if self._sorted is None:
            with tf.init_scope():  # Computed now, not in the graph.
                words = np.array(list(self._ids), dtype=object)
                hash_values = _hash_values(tf.constant(words)).numpy()
            if len(np.unique(hash_values)) < len(words):
                raise ValueError(
                    "Two words of the vocabulary have the same 64-bit hash "
                    "value; such a vocabulary cannot be used in a graph."
                )
            ids = np.array(list(self._ids.values()), "int32")
            order = np.argsort(hash_values)
            self._sorted = [x[order] for x in (hash_values, words, ids)]
        if not tf.executing_eagerly():  # Each graph has its own constants.
            return [tf.constant(x) for x in self._sorted]
        if self._tensors is None:
            self._tensors = [tf.constant(x) for x in self._sorted]
        return self._tensors


@keras.saving.register_keras_serializable(package="keras_elmo")
class VocabularySpelling(Spelling):
    """Spells words as their position in a vocabulary.

    ```
    id(word) = 1 + the word's position
    ```

    Args:
        vocabulary: List of words, strings or bytes. For duplicates, the last
            position is used, as in bilm-tf.
        unknown_word: The word of the vocabulary, such as `<UNK>`, whose id is
            used for other words. If `None`, other words raise an error.

    Example:

    >>> spelling = VocabularySpelling(["<S>", "</S>", "the", "cat"])
    >>> spelling.ids_of_words([b"the", b"cat"])
    array([3, 4], dtype=int32)
    """

    token_shape = ()

    def __init__(
        self,
        vocabulary: Sequence[str | bytes],
        unknown_word: str | bytes | None = None,
    ):
        self.table = (
            vocabulary
            if isinstance(vocabulary, WordTable)
            else WordTable(vocabulary)
        )
        self.num_ids = len(self.table) + 1
        self.unknown_word = unknown_word
        self._unknown_id = None
        if unknown_word is not None:
            self._unknown_id = self.table.get(_as_bytes(unknown_word))
            if self._unknown_id is None:
                raise ValueError(
                    "`unknown_word` must be a word of `vocabulary` or None. "
                    f"Received: {unknown_word!r}, which is not among the "
                    f"{len(self.table):,} words"
                )

    @functools.cached_property
    def boundary_ids(self):
        ids = [self.table.get(word) for word in self.boundary_words]
        if None in ids:
            raise ValueError(
                "`vocabulary` must hold <S> and </S>, which are added to each "
                f"sentence. Received: {len(self.table):,} words without them"
            )
        return np.array(ids, "int32")

    def ids_of_words(self, words):
        ids = [self.table.get(word, self._unknown_id) for word in words]
        if None in ids:
            unknown = words[ids.index(None)].decode("utf-8", "replace")
            raise ValueError(f"{self._refusal()} {unknown!r}")
        return np.array(ids, "int32").reshape(len(words))

    def ids_in_graph(self, words):
        import tensorflow as tf

        from keras_elmo.text.graph_tokens import require

        ids = self.table.ids_in_graph(words)
        if self._unknown_id is not None:
            return tf.where(ids > 0, ids, self._unknown_id)
        unknown = tf.boolean_mask(words, ids == 0)
        return require(tf.size(unknown) == 0, self._refusal(), unknown, ids)

    def _refusal(self):
        return (
            f"Each word must be one of the {len(self.table):,} words of the "
            "vocabulary: there is no vector for other words. Received:"
        )

    def get_config(self):
        unknown = self.unknown_word
        if unknown is not None:
            unknown = _as_string(_as_bytes(unknown))
        return {
            "vocabulary": self.table.as_strings(),
            "unknown_word": unknown,
        }


def _as_bytes(word):
    """Returns a word's bytes: its UTF-8, or the inverse of `_as_string`."""
    if isinstance(word, str):
        return word.encode("utf-8", "surrogateescape")
    return word


def _as_string(word):
    """Returns any bytes as a string that fits JSON."""
    return word.decode("utf-8", "surrogateescape")


def _checked_words(words):
    if isinstance(words, (str, bytes)):
        raise ValueError(
            f"`vocabulary` must be a list of words. Received: {words!r}"
        )
    found = []
    for i, word in enumerate(words):
        word = _as_bytes(word)
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
