from typing import Any

import keras
import numpy as np
from keras import ops

from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.token_embedding import TokenEmbedding
from keras_elmo.layers.token_encoder import TokenEncoder
from keras_elmo.ops.hashed_table import find_entries
from keras_elmo.ops.hashed_table import hash_rows
from keras_elmo.ops.hashed_table import hash_rows_of_array
from keras_elmo.ops.hashed_table import sort_by_hash


@keras.saving.register_keras_serializable(package="keras_elmo")
class KnownWordEmbedding(TokenEncoder):
    """Looks up the vectors of known words, and encodes other words' characters.

    ```
    y = known_words(id)              if the word is known         (projection,)
        character_encoder(ids)       otherwise
    ```

    A token's ids are its character ids, as without known words. A token is
    known if its ids are those of a word in `known_words`. On TensorFlow, the
    character encoder runs only on the distinct unknown words.

    Args:
        known_words: The `TokenEmbedding` of the known words, with a
            `vocabulary`. If several words have the same ids after cropping, the
            last one is used.
        character_encoder: The `CharCNNEmbedding` of all other words. Both must
            return vectors of the same size.
        **kwargs: Base layer keyword arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Integer tensor `(..., max_characters_per_token)`, as
            `batch_to_ids` returns it.

    Input shape:
        `(..., max_characters_per_token)`.

    Output shape:
        `(..., projection_dim)`.

    Masking:
        A word whose ids are all zero is padding. It is masked in the output,
        where its vector is an arbitrary constant.

    Raises:
        ValueError: If `known_words` has no vocabulary; or the ids are not
            integers, have the wrong width, or are out of range (0 to 261).

    Example:

    >>> layer = KnownWordEmbedding(
    ...     TokenEmbedding(2, 8, vocabulary=["the", "cat"]),
    ...     CharCNNEmbedding(8, filters=[(1, 4), (2, 12)]),
    ... )
    >>> tuple(layer(batch_to_ids([["the", "dog"]])).shape)
    (1, 2, 8)

    Reference:

    - [Peters et al., 2018](https://arxiv.org/abs/1802.05365)
    """

    def __init__(
        self,
        known_words: TokenEmbedding,
        character_encoder: CharCNNEmbedding,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.known_words = known_words
        self.character_encoder = character_encoder
        if known_words.spelling is None:
            raise ValueError(
                "`known_words` must have a `vocabulary`. "
                f"Received: layer '{known_words.name}' without one"
            )
        sizes = [
            part.compute_output_shape((None, *part.token_shape))[-1]
            for part in (known_words, character_encoder)
        ]
        if sizes[0] != sizes[1]:
            raise ValueError(
                "`known_words` and `character_encoder` must return vectors of "
                f"the same size. Received: sizes {sizes[0]} and {sizes[1]}"
            )
        self.projection_dim = sizes[0]
        self.spelling = character_encoder.spelling
        self._pass_on_trainable()
        self.supports_jit = character_encoder.supports_jit

    def build(self, input_shape):
        for part in (self.known_words, self.character_encoder):
            if not part.built:
                part.build((None, *part.token_shape))
        rows = self.spelling.ids_of_words(self.known_words.spelling.table.words)
        hash_values = hash_rows_of_array(rows)
        order = sort_by_hash(hash_values)
        # The table is stored as weights, too large to be constants in a graph.
        dtype = "int16" if self.num_ids <= np.iinfo("int16").max else "int32"
        self._hash_values = self._add_table("hash_values", hash_values[order])
        self._rows = self._add_table("rows", rows[order].astype(dtype))
        self._numbers = self._add_table("numbers", order.astype("int32") + 1)

    def _add_table(self, name, values):
        return self.add_weight(
            shape=values.shape,
            initializer=lambda shape, dtype: ops.cast(values, dtype),
            dtype=values.dtype.name,
            trainable=False,
            autocast=False,
            name=name,
        )

    def call(self, inputs, training=None):
        ids = self.check_ids(inputs)
        numbers = self._numbers_of(ids)  # (...,)
        is_known = (numbers != 0)[..., None]
        # All known words become padding. As each distinct row is encoded only
        # once, they cost a single row.
        others = ops.where(is_known, 0, ids)
        return ops.where(
            is_known,
            self.known_words(numbers),
            self.character_encoder(others, training=training),
        )  # (..., projection)

    def _numbers_of(self, ids):
        """The ids for `known_words`, with 0 for unknown words."""
        rows = ops.cast(ops.reshape(ids, (-1, *self.token_shape)), "int32")
        place, is_known = find_entries(
            ops.convert_to_tensor(self._hash_values),
            hash_rows(rows),
            lambda place: ops.all(
                ops.equal(
                    ops.cast(ops.take(self._rows, place, axis=0), "int32"), rows
                ),
                axis=-1,
            ),
        )
        numbers = ops.where(is_known, ops.take(self._numbers, place), 0)
        return ops.reshape(numbers, ops.shape(ids)[:-1])

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
