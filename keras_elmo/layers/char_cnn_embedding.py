from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

import keras

from keras_elmo.checks import check_integer
from keras_elmo.choices import PAPER_FILTERS
from keras_elmo.layers.character_cnn import CharacterCNN
from keras_elmo.ops.weights import affine
from keras_elmo.text.byte_indexer import ByteIndexer


@keras.saving.register_keras_serializable(package="keras_elmo")
class CharCNNEmbedding(CharacterCNN):
    """Embeds words from their characters, independently of their context.

    ```
    e = embeddings[ids]                                (chars, embedding_dim)
    f_w = activation(max over positions(conv_w(e)) + bias_w)     for each width
    x = highways(concatenate(f_1, f_2, ...))                       (filters,)
    y = x @ projection_kernel + projection_bias              (projection_dim,)
    ```

    The convolutions are unpadded. There is no projection when `projection_dim`
    is `None` or equals the total number of filters.

    Args:
        projection_dim: Integer, size of a word's vector, or `None`.
        filters: Pairs `(width, number of filters)`, one for each convolution.
        num_highways: Integer, number of `Highway` layers; may be 0.
        embedding_dim: Integer, size of a character's vector.
        activation: Activation of the convolutions; `"relu"` or `"tanh"` in
            published models. Must be non-decreasing, as it is applied after
            the maximum.
        max_characters_per_token: Integer, number of ids for each word.
        **kwargs: Base layer keyword arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Integer tensor of shape `(..., max_characters_per_token)`, as
            `batch_to_ids` returns it, with ids from 0 to 261.

    Input shape:
        `(..., max_characters_per_token)`.

    Output shape:
        `(..., projection_dim)`.

    Masking:
        A word whose ids are all zero is padding. It is masked in the output,
        where its vector is an arbitrary constant.

    Raises:
        ValueError: If the ids are not integers, have the wrong width, or are
            out of range (0 to 261). In compiled functions, TensorFlow raises
            `InvalidArgumentError` for ids out of range; JAX and XLA cannot
            check values, and return wrong vectors.

    Example:

    >>> layer = CharCNNEmbedding(projection_dim=8, filters=[(1, 4), (2, 12)])
    >>> tuple(layer(batch_to_ids([["Hello", "world"]])).shape)
    (1, 2, 8)

    Reference:

    - [Peters et al., 2018](https://arxiv.org/abs/1802.05365)
    - [Kim et al., 2016](https://arxiv.org/abs/1508.06615)
    """

    def __init__(
        self,
        projection_dim: int | None = 512,
        filters: Iterable[Sequence[int]] = PAPER_FILTERS,
        num_highways: int = 2,
        embedding_dim: int = 16,
        activation: str | Callable[..., Any] = "relu",
        max_characters_per_token: int = 50,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters,
            num_highways,
            embedding_dim,
            activation,
            max_characters_per_token,
            **kwargs,
        )
        check_integer("projection_dim", projection_dim, 1, optional=True)
        self.projection_dim = projection_dim
        self.has_projection = projection_dim not in (None, self.num_filters)
        self.indexer = ByteIndexer(max_characters_per_token)

    def build(self, input_shape):
        self.build_characters(self.num_ids - 1)
        if self.has_projection:
            self.build_projection(self.num_filters)

    def _encode(self, rows, training):
        x = self.encode_characters(rows, training)
        if self.has_projection:
            x = affine(x, self.projection_kernel, self.projection_bias)
        return x  # (words, projection)

    def compute_output_shape(self, input_shape):
        dim = self.projection_dim if self.has_projection else self.num_filters
        return (*input_shape[:-1], dim)

    def get_config(self):
        return {**super().get_config(), "projection_dim": self.projection_dim}
