import keras
import numpy as np
from keras import ops

from keras_elmo.layers.id_layer import IdLayer
from keras_elmo.ops.ids import check_ids
from keras_elmo.text.known_word_vectorization import KnownWordVectorization


@keras.saving.register_keras_serializable(package="keras_elmo")
class KnownWordEmbedding(IdLayer):
    """Looks the vectors of known words up, and reads others by characters.

    ```
    y = known_words(id)                if id > 0              (projection_dim,)
        character_encoder(characters)  otherwise
    ```

    A token's ids are its number in the vocabulary, or 0, and then its
    character ids, which do not matter where there is a number. On TensorFlow
    the character encoder runs on the distinct unknown words alone.

    Args:
        known_words: The `TokenEmbedding` of the known words.
        character_encoder: The `CharCNNEmbedding` of all others. Both must make
            vectors of one size.
        **kwargs: Base layer keyword arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Integer tensor `(..., 1 + max_characters_per_token)`, as
            `make_vectorization().batch_to_ids` makes it.

    Input shape:
        `(..., 1 + max_characters_per_token)`.

    Output shape:
        `(..., projection_dim)`.

    Masking:
        A word whose ids are all zero is padding: it is masked in the output,
        where it holds some constant vector.

    Raises:
        ValueError: If the ids are not integers, have another width, or are
            none of a word of `known_words` or of a character.

    Example:

    >>> layer = KnownWordEmbedding(
    ...     TokenEmbedding(3, 8, vocabulary=["<S>", "</S>", "the"]),
    ...     CharCNNEmbedding(8, filters=[(1, 4), (2, 12)]),
    ... )
    >>> ids = layer.make_vectorization().batch_to_ids([["the", "cat"]])
    >>> tuple(layer(ids).shape)
    (1, 2, 8)

    Reference:

    - [Peters et al., 2018](https://arxiv.org/abs/1802.05365)
    """

    def __init__(self, known_words, character_encoder, **kwargs):
        super().__init__(**kwargs)
        self.known_words = known_words
        self.character_encoder = character_encoder
        sizes = [
            part.compute_output_shape((None, *part.token_shape))[-1]
            for part in (known_words, character_encoder)
        ]
        if sizes[0] != sizes[1]:
            raise ValueError(
                "`known_words` and `character_encoder` must make vectors of "
                f"one size. Received: sizes {sizes[0]} and {sizes[1]}"
            )
        self._pass_on_trainable()
        self.supports_jit = character_encoder.supports_jit

    @property
    def token_shape(self):
        """Shape of one token's ids."""
        return (1 + self.character_encoder.max_characters_per_token,)

    @property
    def num_ids(self):
        """Integer; ids lie from 0 to `num_ids - 1`."""
        return max(self.known_words.num_ids, self.character_encoder.num_ids)

    @property
    def boundary_ids(self):
        """The ids of `<S>` and `</S>`, an array `(2, *token_shape)`."""
        numbers = self.known_words.numbers_of((b"<S>", b"</S>"))
        characters = self.character_encoder.boundary_ids
        characters = np.where(numbers[:, None] > 0, 0, characters)
        return np.concatenate([numbers[:, None], characters], axis=1)

    def make_vectorization(self):
        """Returns the layer that turns words into this one's ids."""
        return KnownWordVectorization(
            self.known_words.word_table,
            self.character_encoder.max_characters_per_token,
        )

    def build(self, input_shape):
        for part in (self.known_words, self.character_encoder):
            if not part.built:
                part.build((None, *part.token_shape))

    def call(self, inputs, training=None):
        inputs = self._checked(inputs)
        numbers, characters = inputs[..., 0], inputs[..., 1:]
        is_known = (numbers != 0)[..., None]
        # All known words become one, and distinct words are encoded once.
        characters = ops.where(is_known, 0, characters)
        return ops.where(
            is_known,
            self.known_words(numbers),
            self.character_encoder(characters, training=training),
        )  # (..., projection)

    def _checked(self, inputs):
        return check_ids(inputs, self.token_shape, self.num_ids, self.name)

    def compute_mask(self, inputs, previous_mask=None):
        if previous_mask is not None:
            return previous_mask
        return ops.any(inputs, axis=-1)  # any id that is not 0

    def compute_output_spec(self, inputs, training=None):
        self._checked(inputs)
        return super().compute_output_spec(inputs)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.known_words.projection_dim)

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "known_words": serialize(self.known_words),
            "character_encoder": serialize(self.character_encoder),
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        for key in ("known_words", "character_encoder"):
            config[key] = keras.saving.deserialize_keras_object(config[key])
        return super().from_config(config)
