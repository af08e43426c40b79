"""Makes batches of windows, in which each distinct word has its ids once."""

import numpy as np

from keras_elmo.pretraining.numbered_text import character_ids

# The number of words is a multiple of it, also to share them among devices.
_UNIT = 64


class WindowBatches:
    """Makes batches for a `LanguageModelTrainer`.

    Args:
        words: List of the words of a text, as bytes, by their numbers.
        indexer: The `ByteIndexer`, which gives the ids of their characters.
        vocabulary: The `Vocabulary` that is predicted.
    """

    def __init__(self, words, indexer, vocabulary):
        self._characters = character_ids(words, indexer)
        self._targets = vocabulary.ids(words)
        # For each word, where it is in the list of distinct words.
        self._index_of = np.empty(len(words), "int32")

    def most_words(self, rows, steps):
        """Returns as many words as a window can have, rounded up."""
        return _rounded_up(min(2 * rows * steps, len(self._targets)), _UNIT)

    def join(self, windows, most=1, num_words=None):
        """Makes a batch of some `TextWindow`s of the same shape.

        Args:
            windows: List of one to `most` windows.
            most: Integer, the number of windows for which there is room.
            num_words: Integer, the number of words for which there is room.
                Defaults to one of a few, as JAX compiles each of them.

        Returns:
            `(inputs, targets)`, as for `LanguageModelTrainer`. If `most` is not
            1, each array has an axis of windows after the first axis, and the
            targets after the last window are -1.
        """
        _, rows, steps = windows[0].inputs.shape
        found = [self._distinct(window.inputs) for window in windows]
        if num_words is None:
            num_words = _padded_size(max(len(words) for words, _ in found))
        shape = (num_words, most, *self._characters.shape[1:])
        characters = np.zeros(shape, self._characters.dtype)
        indices = np.zeros((2, rows, most, steps), "int32")
        targets = np.full(indices.shape, -1, "int32")
        for i, (window, (words, index)) in enumerate(zip(windows, found)):
            characters[: len(words), i] = self._characters[words]
            indices[:, :, i] = index
            targets[:, :, i] = self._targets[window.targets]
        if most == 1:
            characters, indices = characters[:, 0], indices[:, :, 0]
            targets = targets[:, :, 0]
        return (characters, *indices), tuple(targets)

    def _distinct(self, words):
        """Returns the distinct words, and the index of each word in them."""
        flat = words.ravel()
        everywhere = np.arange(len(flat), dtype="int32")
        # Of several positions of a word, one is kept, whichever it is.
        self._index_of[flat] = everywhere
        distinct = flat[self._index_of[flat] == everywhere]
        self._index_of[distinct] = everywhere[: len(distinct)]
        return distinct, self._index_of[words]


def _padded_size(number):
    """Rounds up by less than a quarter, to one of a few sizes."""
    return _rounded_up(number, max(_UNIT, 2 ** (number.bit_length() - 1) // 4))


def _rounded_up(number, unit):
    return -(-number // unit) * unit
