from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_elmo.text import character_ids
from keras_elmo.text.word_table import WordTable
from keras_elmo.text.word_vectorization import WordVectorization


@keras.saving.register_keras_serializable(package="keras_elmo")
class KnownWordVectorization(WordVectorization):
    """Turns words into their number, and into their characters if unknown.

    ```
    ids = [number of the word, or 0; its character ids, or zeros]
    ```

    Args:
        vocabulary: List of words, as for `TokenVectorization`.
        max_characters_per_token: Integer, as for `CharacterVectorization`.
        **kwargs: Base layer keyword arguments, such as `name`.

    Call arguments:
        inputs: Strings, as for `CharacterVectorization`.
        sequence_len: As for `CharacterVectorization`.

    Input shape:
        `(batch,)` or `(batch, time)`.

    Output shape:
        `(batch, time, 1 + max_characters_per_token)`, of int32.

    Masking:
        Padding has rows of zeros.

    Raises:
        ValueError: As `CharacterVectorization`.

    Example:

    >>> layer = KnownWordVectorization(["<S>", "</S>", "the"], 6)
    >>> layer.batch_to_ids([["the", "cat"]])
    array([[[  3,   0,   0,   0,   0,   0,   0],
            [  0, 259, 100,  98, 117, 260, 261]]], dtype=int32)

    Reference:

    - [Peters et al., 2018](https://arxiv.org/abs/1802.05365)
    """

    def __init__(
        self,
        vocabulary: Sequence[str | bytes],
        max_characters_per_token: int = 50,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._table = WordTable.of(vocabulary)
        self.max_characters_per_token = character_ids.checked_width(
            max_characters_per_token
        )

    @property
    def token_shape(self):
        return (1 + self.max_characters_per_token,)

    @property
    def num_ids(self):
        return max(len(self._table) + 1, character_ids.NUM_IDS)

    @property
    def boundary_words(self):
        return b"<S>", b"</S>"

    def ids_of_words(self, words):
        ids = np.zeros((len(words), *self.token_shape), "int32")
        ids[:, 0] = [self._table.get(word, 0) for word in words]
        unknown = np.flatnonzero(ids[:, 0] == 0)
        ids[unknown, 1:] = character_ids.ids_of_words(
            [words[i] for i in unknown], self.max_characters_per_token
        )
        return ids

    def ids_in_graph(self, words):
        import tensorflow as tf

        from keras_elmo.text.graph_character_ids import character_ids_in_graph

        numbers = self._table.look_up(words)[:, None]  # (n, 1)
        characters = character_ids_in_graph(
            words, self.max_characters_per_token
        )
        characters = tf.where(numbers > 0, 0, characters)  # (n, chars)
        return tf.concat([numbers, characters], axis=1)

    def is_cropped(self, word):
        width = self.max_characters_per_token
        return not self._table.get(word) and character_ids.is_cropped(
            word, width
        )

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary": self._table.as_strings(),
            "max_characters_per_token": self.max_characters_per_token,
        }
