"""The numbers of the words in windows."""

import numpy as np

from keras_elmo.text.byte_indexer import ByteIndexer


class WordIds:
    """Converts words to what a language model reads and predicts.

    Args:
        vocabulary: The `Vocabulary`.
        max_characters_per_token: Integer, the number of ids per word.
    """

    def __init__(self, vocabulary, max_characters_per_token):
        self._vocabulary = vocabulary
        self._indexer = ByteIndexer(max_characters_per_token)

    def inputs(self, words):
        """Maps bytes objects `(rows, steps)` to `(rows, steps, characters)`."""
        distinct, places = np.unique(words.ravel(), return_inverse=True)
        ids = self._indexer.ids_of_words(distinct)[places]
        return ids.reshape(*words.shape, -1)

    def targets(self, words):
        """Maps bytes objects to their numbers in the vocabulary."""
        return self._vocabulary.ids(words.ravel()).reshape(words.shape)
