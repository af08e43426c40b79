from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_elmo.text.word_table import WordTable
from keras_elmo.text.word_vectorization import WordVectorization


@keras.saving.register_keras_serializable(package="keras_elmo")
class TokenVectorization(WordVectorization):
    """Turns words, or sentences, into the words' numbers in a vocabulary.

    ```
    id(word) = 1 + the word's place in the vocabulary
    ```

    Id 0 is padding. It is made of TensorFlow's core operations alone, without
    tables to initialise.

    Args:
        vocabulary: List of words, strings or bytes. Of a word that is there
            twice the last place counts, as in bilm-tf.
        boundary_tokens: Pair of integers, the ids of `<S>` and `</S>`.
        unknown_token: Integer, the id of every word that is not there: that of
            `<UNK>`, for instance, or 0. With `None` such a word is an error.
        **kwargs: Base layer keyword arguments, such as `name`.

    Call arguments:
        inputs: Strings, as for `CharacterVectorization`.
        sequence_len: As for `CharacterVectorization`.

    Input shape:
        `(batch,)` or `(batch, time)`.

    Output shape:
        `(batch, time)`, of int32.

    Masking:
        Padding has zeros, which `TokenEmbedding` and `ElmoLayer` take for
        padding.

    Raises:
        ValueError: As `CharacterVectorization`; and in Python, if a word is
            not in the vocabulary and there is no `unknown_token`.
        tf.errors.InvalidArgumentError: In a graph, if there is such a word.

    Example:

    >>> layer = TokenVectorization(["<S>", "</S>", "the", "cat"])
    >>> layer.batch_to_ids([["the", "cat"], ["cat"]])
    array([[3, 4],
           [4, 0]], dtype=int32)

    Reference:

    - [Peters et al., 2018](https://arxiv.org/abs/1802.05365)
    """

    def __init__(
        self,
        vocabulary: Sequence[str | bytes],
        boundary_tokens: Sequence[int] = (1, 2),
        unknown_token: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._table = WordTable.of(vocabulary)
        self.boundary_tokens = tuple(boundary_tokens)
        self.unknown_token = unknown_token

    @property
    def token_shape(self):
        return ()

    @property
    def num_ids(self):
        return len(self._table) + 1

    @property
    def boundary_words(self):
        first, last = self.boundary_tokens
        return self._table.words[first - 1], self._table.words[last - 1]

    def ids_of_words(self, words):
        ids = [self._table.get(word, self.unknown_token) for word in words]
        if None in ids:
            unknown = words[ids.index(None)].decode("utf-8", "replace")
            raise ValueError(
                "A word must be one of the vocabulary's "
                f"{len(self._table):,}: there is no vector for others. "
                f"Received: {unknown!r}"
            )
        return np.array(ids, "int32").reshape(len(words))

    def ids_in_graph(self, words):
        import tensorflow as tf

        ids = self._table.look_up(words)
        if self.unknown_token is not None:
            return tf.where(ids > 0, ids, self.unknown_token)
        message = (
            "A word must be one of the vocabulary's "
            f"{len(self._table):,}: there is no vector for others. Received:"
        )
        unknown = tf.boolean_mask(words, ids == 0)
        check = tf.debugging.Assert(tf.size(unknown) == 0, [message, unknown])
        # In eager mode there is no operation to wait for.
        with tf.control_dependencies([check] if check is not None else []):
            return tf.identity(ids)

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary": self._table.as_strings(),
            "boundary_tokens": list(self.boundary_tokens),
            "unknown_token": self.unknown_token,
        }
