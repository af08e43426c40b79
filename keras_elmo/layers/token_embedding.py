from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_elmo.checks import check_integer
from keras_elmo.layers.base_layers import TokenEncoder
from keras_elmo.ops.weights import look_up
from keras_elmo.ops.weights import new_weight
from keras_elmo.text.vocabulary_spelling import VocabularySpelling


@keras.saving.register_keras_serializable(package="keras_elmo")
class TokenEmbedding(TokenEncoder):
    """Embeds words by their index in a vocabulary.

    ```
    y = embeddings[id - 1]                                   (projection_dim,)
    ```

    This is the token encoder of a biLM with word input. Id 0 is padding and has
    no row; id `i + 1` is line `i` of the vocabulary, counting from 0.

    Args:
        num_tokens: Integer, size of the vocabulary.
        projection_dim: Integer, size of a word's vector.
        vocabulary: List of `num_tokens` words, strings or bytes. `ElmoEmbedder`
            and `export_saved_model` need it to turn words into ids. Without it,
            the first two words are assumed to be `<S>` and `</S>`.
        unknown_word: The word of `vocabulary`, such as `<UNK>`, whose vector is
            used for words not in `vocabulary`. If `None`, such words raise an
            error.
        **kwargs: Base layer keyword arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Integer tensor of any shape, with ids from 0 to `num_tokens`.

    Input shape:
        `(...)`, such as `(batch, time)`.

    Output shape:
        `(..., projection_dim)`.

    Masking:
        Id 0 is padding: its vector is zero and is masked in the output.

    Raises:
        ValueError: If the ids are not integers, or are out of range (0 to
            `num_tokens`). In compiled functions, TensorFlow raises
            `InvalidArgumentError` for ids out of range; JAX and XLA cannot
            check values, and return wrong vectors.

    Example:

    >>> layer = TokenEmbedding(num_tokens=1000, projection_dim=8)
    >>> tuple(layer(np.array([[5, 17, 1000], [4, 0, 0]])).shape)
    (2, 3, 8)

    Reference:

    - [Peters et al., 2018](https://arxiv.org/abs/1802.05365)
    """

    def __init__(
        self,
        num_tokens: int,
        projection_dim: int,
        vocabulary: Sequence[str | bytes] | None = None,
        unknown_word: str | bytes | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_integer("num_tokens", num_tokens, 1)
        check_integer("projection_dim", projection_dim, 1)
        self.num_tokens = num_tokens
        self.projection_dim = projection_dim
        if vocabulary is not None:
            self.spelling = VocabularySpelling(vocabulary, unknown_word)
            number = len(self.spelling.table)
            if number != num_tokens:
                raise ValueError(
                    f"`vocabulary` must have `num_tokens`={num_tokens} words. "
                    f"Received: {number}"
                )
        elif unknown_word is not None:
            raise ValueError(
                "`unknown_word` can only be used with `vocabulary`. "
                f"Received: unknown_word={unknown_word!r}, vocabulary=None"
            )

    @property
    def token_shape(self):
        """Shape of one token's ids: `()`, as each token has a single id."""
        return ()

    @property
    def num_ids(self):
        """Integer; ids range from 0 to `num_ids - 1`."""
        return self.num_tokens + 1

    @property
    def boundary_ids(self):
        """The ids of `<S>` and `</S>`, an array `(2,)`."""
        if self.spelling is None:
            return np.array([1, 2], "int32")
        return self.spelling.boundary_ids

    def build(self, input_shape):
        # Row i is for id i + 1; id 0, padding, has no row.
        deviation = self.projection_dim**-0.5
        self.embeddings = new_weight(
            self,
            "embeddings",
            (self.num_tokens, self.projection_dim),
            keras.initializers.RandomNormal(stddev=deviation),
        )

    def call(self, inputs):
        vectors = look_up(inputs, self.embeddings, self.compute_dtype)
        return ops.where(
            inputs[..., None] != 0, vectors, 0
        )  # (..., projection)

    def get_config(self):
        words = self.spelling.get_config() if self.spelling else {}
        return {
            **super().get_config(),
            "num_tokens": self.num_tokens,
            "projection_dim": self.projection_dim,
            **words,
        }
