import collections

import numpy as np


class TokenCache:
    """Keeps the vectors of the words that were used last.

    A word's vector does not depend on its sentence, and most words of a text
    repeat, so that soon only new ones need the token encoder.

    Args:
        encode: From a list of distinct words to their vectors, an array
            `(words, dim)`.
        max_words: Integer, the most words to keep; 0 keeps none. Above it, the
            word that was not used for longest makes room.
    """

    def __init__(self, encode, max_words):
        self._encode = encode
        self._max_words = max_words
        self._slots = collections.OrderedDict()  # Least recently used first.
        self._table = None  # (max_words, dim)

    def __len__(self):
        return len(self._slots)

    def clear(self):
        """Forgets all words."""
        self._slots.clear()

    def vectors(self, words):
        """Returns the vectors of distinct `words`: array `(words, dim)`."""
        known = [i for i, word in enumerate(words) if word in self._slots]
        new = [i for i, word in enumerate(words) if word not in self._slots]
        if not known:
            vectors = self._encode(words)
        else:
            vectors = np.empty(
                (len(words), self._table.shape[1]), self._table.dtype
            )
            slots = [self._slots[words[i]] for i in known]
            vectors[known] = self._table[slots]
            if new:
                vectors[new] = self._encode([words[i] for i in new])
        for i in known:
            self._slots.move_to_end(words[i])
        self._keep([words[i] for i in new], vectors[new])
        return vectors

    def _keep(self, words, vectors):
        if self._table is None:
            self._table = np.empty(
                (self._max_words, vectors.shape[1]), vectors.dtype
            )
        # More words than there is room for would push each other out.
        for word, vector in zip(words, vectors[: self._max_words]):
            if len(self._slots) < self._max_words:
                slot = len(self._slots)
            else:
                _, slot = self._slots.popitem(last=False)
            self._table[slot] = vector
            self._slots[word] = slot
