from collections.abc import Sequence

import keras
import numpy as np

from keras_elmo.text.spelling import Spelling
from keras_elmo.text.word_table import WordTable
from keras_elmo.text.word_table import as_bytes
from keras_elmo.text.word_table import as_string


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
        self.table = WordTable.of(vocabulary)
        self.unknown_word = unknown_word
        self._unknown_id = None
        if unknown_word is not None:
            self._unknown_id = self.table.get(as_bytes(unknown_word))
            if self._unknown_id is None:
                raise ValueError(
                    "`unknown_word` must be a word of `vocabulary` or None. "
                    f"Received: {unknown_word!r}, which is not among the "
                    f"{len(self.table):,} words"
                )

    @property
    def num_ids(self):
        return len(self.table) + 1

    @property
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

        ids = self.table.ids_in_graph(words)
        if self._unknown_id is not None:
            return tf.where(ids > 0, ids, self._unknown_id)
        unknown = tf.boolean_mask(words, ids == 0)
        check = tf.debugging.Assert(
            tf.size(unknown) == 0, [self._refusal(), unknown]
        )
        # In eager mode, `Assert` returns no operation.
        with tf.control_dependencies([check] if check is not None else []):
            return tf.identity(ids)

    def _refusal(self):
        return (
            f"Each word must be one of the {len(self.table):,} words of the "
            "vocabulary: there is no vector for other words. Received:"
        )

    def get_config(self):
        unknown = self.unknown_word
        if unknown is not None:
            unknown = as_string(as_bytes(unknown))
        return {
            "vocabulary": self.table.as_strings(),
            "unknown_word": unknown,
        }
