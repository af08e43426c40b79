from typing import Any

from keras import ops

from keras_elmo.ops.id_layer import IdLayer
from keras_elmo.ops.ids import as_ids
from keras_elmo.ops.ids import check_ids
from keras_elmo.text.word_vectorization import WordVectorization


class TokenEncoder(IdLayer):
    """Base class of layers that encode a token's ids as a vector.

    The shape and range of the ids follow from the `spelling`, which defines how
    words become ids. Subclasses set it and `projection_dim`, the size of a
    vector.
    """

    spelling: Any = None
    """The `Spelling` of words, or `None` if the layer takes only ids."""

    @property
    def token_shape(self):
        """Shape of one token's ids."""
        return self.spelling.token_shape

    @property
    def num_ids(self):
        """Integer; ids range from 0 to `num_ids - 1`."""
        return self.spelling.num_ids

    @property
    def boundary_ids(self):
        """The ids of the sentence boundaries, an array `(2, *token_shape)`."""
        return self.spelling.boundary_ids

    def make_vectorization(
        self, split: str | None = "auto"
    ) -> WordVectorization:
        """Returns the layer that turns words into ids for this layer.

        Args:
            split: As for `WordVectorization`; `"whitespace"` for sentences.
        """
        return WordVectorization(self.spelling, split)

    def read_ids(self, ids):
        ids = as_ids(ids, self.num_ids, self.name)
        return check_ids(ids, self.token_shape, self.num_ids, self.name)

    def compute_mask(self, inputs, previous_mask=None):
        if previous_mask is not None:
            return previous_mask
        is_id = ops.not_equal(inputs, 0)
        return ops.any(is_id, axis=-1) if self.token_shape else is_id

    def compute_output_shape(self, input_shape):
        rank = len(input_shape) - len(self.token_shape)
        return (*input_shape[:rank], self.projection_dim)
