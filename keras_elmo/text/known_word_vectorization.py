import keras
import numpy as np

from keras_elmo.text.character_vectorization import CharacterVectorization
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

    def __init__(self, vocabulary, max_characters_per_token=50, **kwargs):
        super().__init__(**kwargs)
        self._table = WordTable.of(vocabulary)
        self._characters = CharacterVectorization(max_characters_per_token)

    @property
    def token_shape(self):
        return (1 + self._characters.max_characters_per_token,)

    @property
    def num_ids(self):
        return max(len(self._table) + 1, self._characters.num_ids)

    @property
    def boundary_words(self):
        return self._characters.boundary_words

    def ids_of_words(self, words):
        ids = np.zeros((len(words), *self.token_shape), "int32")
        ids[:, 0] = [self._table.id(word, 0) for word in words]
        unknown = np.flatnonzero(ids[:, 0] == 0)
        ids[unknown, 1:] = self._characters.ids_of_words(
            [words[i] for i in unknown]
        )
        return ids

    def ids_in_graph(self, words):
        import tensorflow as tf

        numbers = self._table.look_up(words)[:, None]  # (n, 1)
        characters = self._characters.ids_in_graph(words)
        characters = tf.where(numbers > 0, 0, characters)  # (n, chars)
        return tf.concat([numbers, characters], axis=1)

    def is_cropped(self, word):
        return not self._table.id(word) and self._characters.is_cropped(word)

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary": self._table.as_strings(),
            "max_characters_per_token": (
                self._characters.max_characters_per_token
            ),
        }
