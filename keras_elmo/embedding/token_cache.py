import collections
import threading

import numpy as np


class TokenCache:
    """Keeps the vectors of the words that were used last.

    A word's vector does not depend on its sentence, and most words of a text
    repeat, so that soon only new ones need the token encoder. Threads may share
    a cache.

    Args:
        encode: From a list of distinct words to their vectors, an array
            `(words, dim)`.
        max_words: Integer, the most words to keep; 0 keeps none. Above it, the
            word that was not used for longest makes room.
    """

    def __init__(self, encode, max_words):
        self._encode = encode
        self._max_words = max_words
        self._kept = collections.OrderedDict()  # Least recently used first.
        self._lock = threading.Lock()

    def __len__(self):
        return len(self._kept)

    def clear(self):
        """Forgets all words."""
        with self._lock:
            self._kept.clear()

    def vectors(self, words):
        """Returns the vectors of distinct `words`: array `(words, dim)`."""
        with self._lock:
            found = {word: self._kept.get(word) for word in words}
        new = [word for word, vector in found.items() if vector is None]
        if new:
            found.update(zip(new, self._encode(new)))
        with self._lock:
            for word, vector in found.items():
                self._keep(word, vector)
        return np.stack([found[word] for word in words])

    def _keep(self, word, vector):
        if word in self._kept:
            self._kept.move_to_end(word)
        elif self._max_words:
            # A copy, which does not hold on to all that were encoded with it.
            self._kept[word] = vector.copy()
            if len(self._kept) > self._max_words:
                self._kept.popitem(last=False)
