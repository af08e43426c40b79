"""The numbers of the words in windows."""

import numpy as np

from keras_elmo.text.byte_indexer import ByteIndexer


class WordIds:
    """Converts words to what a language model reads and predicts.

    Args:
        vocabulary: The `Vocabulary`.
        token_shape: Tuple, `(max_characters_per_token,)`, or `()` for a model
            with word input.
    """

    def __init__(self, vocabulary, token_shape):
        self._vocabulary = vocabulary
        self._indexer = ByteIndexer(*token_shape) if token_shape else None

    def inputs(self, words):
        """Maps bytes objects `(rows, steps)` to `(rows, steps, *token_shape)`.

        The number of a word is that of its target plus one.
        """
        if self._indexer is None:
            return self.targets(words) + 1
        distinct, places = np.unique(words.ravel(), return_inverse=True)
        ids = self._indexer.ids_of_words(distinct)[places]
        return ids.reshape(*words.shape, -1)

    def targets(self, words):
        """Maps bytes objects to their numbers in the vocabulary."""
        return self._vocabulary.ids(words.ravel()).reshape(words.shape)
