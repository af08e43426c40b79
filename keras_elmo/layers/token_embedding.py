import keras
import numpy as np
from keras import ops

from keras_elmo.layers.arguments import check_integer
from keras_elmo.layers.id_layer import IdLayer
from keras_elmo.layers.initializers import for_large_matrix
from keras_elmo.ops.ids import check_ids
from keras_elmo.ops.weights import read_weight
from keras_elmo.text.token_vectorization import TokenVectorization
from keras_elmo.text.word_table import WordTable


@keras.saving.register_keras_serializable(package="keras_elmo")
class TokenEmbedding(IdLayer):
    """Embeds words by their number in a vocabulary.

    ```
    y = embeddings[id - 1]                                   (projection_dim,)
    ```

    The token encoder of a biLM with word input. Id 0 is padding and has no
    row: id `i + 1` is line `i` of the vocabulary.

    Args:
        num_tokens: Integer, size of the vocabulary.
        projection_dim: Integer, size of a word's vector.
        boundary_tokens: Pair of integers, the ids of `<S>` and `</S>`. The
            default is that of a vocabulary which begins with them.
        vocabulary: List of the words, strings or bytes, as many as
            `num_tokens`: only with it can the layer be given words, by
            `ElmoEmbedder` and `export_saved_model`.
        unknown_token: Integer, the id of words outside the vocabulary, such as
            that of `<UNK>`. With `None` they are an error.
        **kwargs: Base layer keyword arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Integer tensor of any shape, with ids from 0 to `num_tokens`.

    Input shape:
        `(...)`, such as `(batch, time)`.

    Output shape:
        `(..., projection_dim)`.

    Masking:
        Id 0 is padding: it is masked in the output, where it holds zeros.

    Raises:
        ValueError: If the ids are not integers, or lie outside
            0..`num_tokens`. In a compiled function, where values cannot be
            looked at, the backend's own lookup reports ids out of range.

    Example:

    >>> layer = TokenEmbedding(num_tokens=1000, projection_dim=8)
    >>> tuple(layer(np.array([[5, 17, 1000], [4, 0, 0]])).shape)
    (2, 3, 8)

    Reference:

    - [Peters et al., 2018](https://arxiv.org/abs/1802.05365)
    """

    def __init__(
        self,
        num_tokens,
        projection_dim,
        boundary_tokens=(1, 2),
        vocabulary=None,
        unknown_token=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_integer("num_tokens", num_tokens, 1)
        check_integer("projection_dim", projection_dim, 1)
        self.num_tokens = num_tokens
        self.projection_dim = projection_dim
        self.boundary_tokens = _checked_boundaries(boundary_tokens, num_tokens)
        check_integer("unknown_token", unknown_token, 1, optional=True)
        self.unknown_token = unknown_token
        self._table = None if vocabulary is None else WordTable.of(vocabulary)
        if self._table is not None and len(self._table) != num_tokens:
            raise ValueError(
                f"`vocabulary` must have `num_tokens`={num_tokens} words. "
                f"Received: {len(self._table)}"
            )

    @property
    def token_shape(self):
        """Shape of one token's ids: each token has a single one."""
        return ()

    @property
    def num_ids(self):
        """Integer; ids lie from 0 to `num_ids - 1`."""
        return self.num_tokens + 1

    @property
    def boundary_ids(self):
        """The ids of `<S>` and `</S>`, an array `(2,)`."""
        return np.array(self.boundary_tokens, "int32")

    @property
    def word_table(self):
        """The `WordTable` of the vocabulary; an error if there is none."""
        if self._table is None:
            raise ValueError(
                f"Layer '{self.name}' does not know which words its ids stand "
                "for: pass it `vocabulary`, as to `ElmoLayer.from_bilm`, or "
                "make the ids yourself. Received: vocabulary=None"
            )
        return self._table

    def numbers_of(self, words):
        """Returns the ids of words, bytes: int32; 0 for unknown ones."""
        table = self._table or {}
        return np.array([table.get(word, 0) for word in words], "int32")

    def make_vectorization(self):
        """Returns the layer that turns words into this one's ids."""
        return TokenVectorization(
            self.word_table, self.boundary_tokens, self.unknown_token
        )

    def build(self, input_shape):
        # Row i is for id i + 1; id 0, padding, has no weights of its own.
        deviation = self.projection_dim**-0.5
        self.embeddings = self.add_weight(
            shape=(self.num_tokens, self.projection_dim),
            initializer=for_large_matrix(
                keras.initializers.RandomNormal(stddev=deviation)
            ),
            autocast=False,
            name="embeddings",
        )

    def call(self, inputs):
        ids = self._checked(inputs)
        # Keras counts a negative index from the end: send it out of range.
        rows = ops.where(ids < 0, self.num_tokens, ops.maximum(ids - 1, 0))
        vectors = ops.take(read_weight(self.embeddings), rows, axis=0)
        vectors = ops.cast(vectors, self.compute_dtype)
        return ops.where(ids[..., None] != 0, vectors, 0)  # (..., projection)

    def _checked(self, ids):
        return check_ids(ids, self.token_shape, self.num_ids, self.name)

    def compute_mask(self, inputs, previous_mask=None):
        if previous_mask is not None:
            return previous_mask
        return ops.not_equal(inputs, 0)

    def compute_output_spec(self, inputs):
        self._checked(inputs)
        return super().compute_output_spec(inputs)

    def compute_output_shape(self, input_shape):
        return (*input_shape, self.projection_dim)

    def get_config(self):
        return {
            **super().get_config(),
            "num_tokens": self.num_tokens,
            "projection_dim": self.projection_dim,
            "boundary_tokens": list(self.boundary_tokens),
            "vocabulary": self._table and self._table.as_strings(),
            "unknown_token": self.unknown_token,
        }


def _checked_boundaries(tokens, num_tokens):
    try:
        first, last = tokens
        check_integer("boundary_tokens", first, 1)
        check_integer("boundary_tokens", last, 1)
        good = max(first, last) <= num_tokens
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ValueError(
            "`boundary_tokens` must be two integers from 1 to "
            f"`num_tokens`={num_tokens}. Received: boundary_tokens={tokens!r}"
        )
    return int(first), int(last)
