"""Layers that embed a word without context, from its character ids."""

import keras
import numpy as np
from keras import ops

from keras_elmo import batch_to_ids
from keras_elmo.ops.backends import backend

NUM_CHARACTER_IDS = 262
PADDING_CHARACTER = 261
# The ids of "A" and "Z".
_FIRST_CAPITAL, _LAST_CAPITAL = ord("A") + 1, ord("Z") + 1


@keras.saving.register_keras_serializable(package="tagging")
class WordNumbers(keras.layers.Layer):
    """Looks up the indices of words by their character ids.

    Thus a tagger that embeds words needs only character ids, like ELMo. The
    letters A to Z are treated as a to z. The index is 0 at padding, 1 for a
    word that is not in the vocabulary, and 2 for the first word in it.

    Args:
        words: Strings, the vocabulary.

    Call arguments:
        inputs: Character ids `(batch, time, chars)`.

    Output shape:
        `(batch, time)`, int32.
    """

    def __init__(self, words, **kwargs):
        super().__init__(**kwargs)
        self.words = list(words)

    @property
    def num_words(self):
        """Number of indices, including padding and unknown words."""
        return len(self.words) + 2

    def build(self, input_shape):
        # Two hash values represent a row of ids: one finds a word, the other
        # tells it from words outside the vocabulary.
        width = input_shape[-1]
        generator = np.random.default_rng(0)
        low, high = -(2**31), 2**31
        self._factors = generator.integers(low, high, (2, width), "int32")
        words = [word.encode().lower() for word in self.words]
        rows = batch_to_ids([words], width)[0]
        first, second = (
            (rows * factors).sum(axis=-1, dtype="int32")
            for factors in self._factors
        )
        order = np.argsort(first, kind="stable")
        self._first, self._second = first[order], second[order]
        self._numbers = order.astype("int32") + 2

    def call(self, inputs):
        mask = ops.any(ops.not_equal(inputs, 0), axis=-1)  # (batch, time)
        if not self.words:
            return ops.cast(mask, "int32")
        is_capital = ops.logical_and(
            inputs >= _FIRST_CAPITAL, inputs <= _LAST_CAPITAL
        )
        ids = ops.where(is_capital, inputs + 32, inputs)
        first, second = (
            ops.sum(ids * factors, axis=-1) for factors in self._factors
        )
        place = ops.searchsorted(self._first, ops.reshape(first, (-1,)))
        place = ops.reshape(place, ops.shape(first))  # (batch, time)
        place = ops.minimum(place, len(self.words) - 1)
        is_known = ops.logical_and(
            ops.take(self._first, place) == first,
            ops.take(self._second, place) == second,
        )
        numbers = ops.where(is_known, ops.take(self._numbers, place), 1)
        return ops.where(mask, numbers, 0)

    def compute_output_spec(self, inputs):
        return keras.KerasTensor(inputs.shape[:-1], "int32")

    def get_config(self):
        return {**super().get_config(), "words": self.words}


@keras.saving.register_keras_serializable(package="tagging")
class CharacterBiLSTM(keras.layers.Layer):
    """Computes a vector of each word's spelling, trained with the task.

    The vector consists of the last states of a forward and a backward LSTM over
    the characters ([Lample et al., 2016](https://arxiv.org/abs/1603.01360)).

    Args:
        units: Integer, units per direction.
        max_characters: Integer; longer words are truncated.

    Call arguments:
        inputs: Character ids `(batch, time, chars)`.

    Output shape:
        `(batch, time, 2 * units)`.
    """

    def __init__(self, units, max_characters=20, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.max_characters = max_characters
        self.embedding = keras.layers.Embedding(
            NUM_CHARACTER_IDS, units, name="characters"
        )
        self.lstm = keras.layers.Bidirectional(
            keras.layers.LSTM(units), name="lstm"
        )

    def build(self, input_shape):
        self.embedding.build((None, None))
        self.lstm.build((None, None, self.units))

    def call(self, inputs):
        batch, time, width = ops.shape(inputs)
        rows = ops.reshape(inputs, (batch * time, width))
        rows = rows[:, : self.max_characters]
        # Most words occur more than once in a batch.
        x = backend().map_distinct_rows(self._read, rows)
        return ops.reshape(x, (batch, time, 2 * self.units))

    def _read(self, rows):
        """Maps ids (words, chars) to vectors (words, 2 * units)."""
        mask = ops.logical_and(rows != 0, rows != PADDING_CHARACTER)
        return self.lstm(self.embedding(rows), mask=mask)

    def compute_output_spec(self, inputs):
        shape = (*inputs.shape[:-1], 2 * self.units)
        return keras.KerasTensor(shape, self.compute_dtype)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "max_characters": self.max_characters,
        }
