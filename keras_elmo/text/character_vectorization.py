from typing import Any

import keras

from keras_elmo.text import character_ids
from keras_elmo.text.word_vectorization import WordVectorization


@keras.saving.register_keras_serializable(package="keras_elmo")
class CharacterVectorization(WordVectorization):
    """Turns words, or sentences, into character ids inside the graph.

    ```
    ids[i, j] = batch_to_ids(words)[i, j]          (max_characters_per_token,)
    ```

    The ids are those of `batch_to_ids` for the same bytes. It is made of
    TensorFlow's core operations alone, so that a model that begins with it, or
    a `tf.data` pipeline, takes strings anywhere. TensorFlow's backend only.

    Args:
        max_characters_per_token: Integer, the number of ids a word. The model's
            own (`CharCNNEmbedding.max_characters_per_token`); 50 in every
            published model.
        **kwargs: Base layer keyword arguments, such as `name`.

    Call arguments:
        inputs: Strings, as a tensor, an array or a list. Of rank 1: sentences,
            each of which is split on runs of spaces (U+0020 alone). Of rank 2:
            words, a row a sentence, padded at its end with `""`; or, as a list
            of lists or a `tf.RaggedTensor`, without padding.
        sequence_len: Integer tensor of shape `(batch,)`, the number of words of
            each row of padded words; what comes after them is padding, whatever
            it is. Without it, the `""` at a row's end are padding.

    Input shape:
        `(batch,)` or `(batch, time)`.

    Output shape:
        `(batch, time, max_characters_per_token)`, of int32. Of sentences and of
        ragged words, `time` is that of the longest one.

    Masking:
        Padding has rows of zeros, which `CharCNNEmbedding` and `ElmoLayer` take
        for padding. A `""` that is not padding is an empty word: one before a
        later word, within `sequence_len`, or in a ragged row.

    Raises:
        ValueError: If the inputs are no strings or of another rank, or
            `sequence_len` comes with anything but padded words.
        tf.errors.InvalidArgumentError: If a number in `sequence_len` is
            negative or above `time`, or there are not as many as rows.
        RuntimeError: When called on Keras' JAX or PyTorch backend; there, use
            `batch_to_ids`.

    Example:

    >>> layer = CharacterVectorization()
    >>> ids = layer(["First sentence .", "Another  ."])
    >>> expected = batch_to_ids([["First", "sentence", "."], ["Another", "."]])
    >>> bool(np.all(ids == expected))
    True
    >>> inputs = keras.Input((), dtype="string")
    >>> model = keras.Model(inputs, layer(inputs))
    >>> model.output_shape
    (None, None, 50)

    Reference:

    - [Peters et al., 2018](https://arxiv.org/abs/1802.05365)
    """

    def __init__(
        self, max_characters_per_token: int = 50, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.max_characters_per_token = character_ids.checked_width(
            max_characters_per_token
        )

    @property
    def token_shape(self):
        return (self.max_characters_per_token,)

    @property
    def num_ids(self):
        return character_ids.NUM_IDS

    @property
    def boundary_words(self):
        return b"<S>", b"</S>"

    @property
    def begin_id(self):
        return character_ids.BEGIN_WORD

    def ids_of_words(self, words):
        return character_ids.ids_of_words(words, self.max_characters_per_token)

    def ids_in_graph(self, words):
        from keras_elmo.text.graph_character_ids import character_ids_in_graph

        return character_ids_in_graph(words, self.max_characters_per_token)

    def is_cropped(self, word):
        return character_ids.is_cropped(word, self.max_characters_per_token)

    def shortened(self, word):
        # Too much to be a boundary, though no more than counts of a long word.
        return word[: max(self.max_characters_per_token, 5)]

    def get_config(self):
        return {
            **super().get_config(),
            "max_characters_per_token": self.max_characters_per_token,
        }
