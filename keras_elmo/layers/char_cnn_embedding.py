import functools
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_elmo.checks import check_integer
from keras_elmo.checks import pairs_of_filters
from keras_elmo.choices import PAPER_FILTERS
from keras_elmo.layers.base_layers import TokenEncoder
from keras_elmo.layers.base_layers import affine
from keras_elmo.layers.base_layers import new_weight
from keras_elmo.layers.base_layers import read_weight
from keras_elmo.layers.highway import Highway
from keras_elmo.ops.backends import backend
from keras_elmo.ops.backends import wide_dtype
from keras_elmo.ops.inputs import as_ids
from keras_elmo.text.byte_indexer import ByteIndexer


@keras.saving.register_keras_serializable(package="keras_elmo")
class CharCNNEmbedding(TokenEncoder):
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
        *,
        num_highways: int = 2,
        embedding_dim: int = 16,
        activation: str | Callable[..., Any] = "relu",
        max_characters_per_token: int = 50,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_integer("num_highways", num_highways, 0)
        check_integer("embedding_dim", embedding_dim, 1)
        check_integer("max_characters_per_token", max_characters_per_token, 3)
        check_integer("projection_dim", projection_dim, 1, optional=True)
        self.filters = pairs_of_filters(filters, max_characters_per_token)
        if self.filters is None:
            raise ValueError(
                "`filters` must be pairs (width, number) of positive integers, "
                "with widths up to `max_characters_per_token`="
                f"{max_characters_per_token}. Received: filters={filters}"
            )
        self.num_filters = sum(number for _, number in self.filters)
        self.has_projection = projection_dim not in (None, self.num_filters)
        self.projection_dim = projection_dim
        self.num_highways = num_highways
        self.embedding_dim = embedding_dim
        self.activation = keras.activations.get(activation)
        self.max_characters_per_token = max_characters_per_token
        self.indexer = ByteIndexer(max_characters_per_token)
        self.highways = [
            Highway(dtype=self.dtype_policy, name=f"highway_{i}")
            for i in range(num_highways)
        ]
        self._pass_on_trainable()
        self.supports_jit = backend().supports_jit

    def build(self, input_shape):
        self._build_characters(self.num_ids - 1)
        if self.has_projection:
            self._build_projection(self.num_filters)

    def _build_characters(self, num_characters):
        """Creates the weights, for ids from 1 to `num_characters`."""
        # Row i is for id i + 1; id 0, padding, has no row.
        shape = (num_characters, self.embedding_dim)
        uniform = keras.initializers.RandomUniform(-1.0, 1.0)
        self.embeddings = new_weight(self, "embeddings", shape, uniform)
        self.conv_kernels = []
        self.conv_biases = []
        for i, (width, number) in enumerate(self.filters):
            initializer = None  # That of matrices.
            if self.activation is keras.activations.relu:
                initializer = keras.initializers.RandomUniform(-0.05, 0.05)
            shape = (width, self.embedding_dim, number)
            kernel = new_weight(self, f"conv_{i}_kernel", shape, initializer)
            bias = new_weight(self, f"conv_{i}_bias", (number,))
            self.conv_kernels.append(kernel)
            self.conv_biases.append(bias)
        for highway in self.highways:
            highway.build((None, self.num_filters))

    def _build_projection(self, features):
        """Creates the weights of a projection, from vectors of `features`."""
        self.projection_kernel = new_weight(
            self, "projection_kernel", (features, self.projection_dim)
        )
        self.projection_bias = new_weight(
            self, "projection_bias", (self.projection_dim,)
        )

    def call(self, inputs, *, training=None):
        *_, dim = self.compute_output_shape(inputs.shape)  # Checks the shape.
        ids = as_ids(inputs, self.num_ids, self.name)
        words = ops.reshape(ids, (-1, *self.token_shape))
        encode = functools.partial(self._encode, training=training)
        vectors = backend().distinct_rows(encode, words)
        return ops.reshape(vectors, (*ops.shape(ids)[:-1], dim))

    def _encode(self, words, training):
        """Encodes ids `(words, *token_shape)` as `(words, projection_dim)`."""
        x = self._encode_characters(words, training)
        if self.has_projection:
            x = affine(x, self.projection_kernel, self.projection_bias)
        return x

    def _encode_characters(self, words, training):
        """Encodes ids `(words, chars)` as vectors `(words, filters)`."""
        if training and self.trainable_variables:
            # The gradient of the maxima is the costliest part, so words are
            # grouped by length.
            x = backend().groups_by_length(self._convolve, words)
        else:
            x = self._convolve(words)
        for highway in self.highways:
            x = highway(x)
        return x

    def _convolve(self, words):
        widest, _ = max(self.filters)
        # The windows within the constant end are all equal: one is enough.
        length = backend().varying_length(words)
        words = words[:, : length + widest]
        dtype = self.compute_dtype
        # In half precision, the gradient of a frequent character would be a sum
        # of many roundings, and on a GPU a slow one.
        embeddings = read_weight(self.embeddings, wide_dtype(dtype))
        kernels = [read_weight(kernel, dtype) for kernel in self.conv_kernels]
        biases = [read_weight(bias, dtype) for bias in self.conv_biases]
        x = ops.cast(embed_characters(words, embeddings), dtype)
        x = convolve_and_pool(x, kernels, length + 1)
        return self.activation(x + ops.concatenate(biases))

    def compute_output_shape(self, input_shape):
        dim = self.projection_dim if self.has_projection else self.num_filters
        return (*super().compute_output_shape(input_shape)[:-1], dim)

    def get_config(self):
        return {
            **super().get_config(),
            "projection_dim": self.projection_dim,
            "filters": [list(pair) for pair in self.filters],
            "num_highways": self.num_highways,
            "embedding_dim": self.embedding_dim,
            "activation": keras.activations.serialize(self.activation),
            "max_characters_per_token": self.max_characters_per_token,
        }


def embed_characters(words, embeddings):
    """Looks up `words` (words, chars) -> (words, chars, embedding_dim).

    Id 0 gives zeros, id i gives row i - 1 of `embeddings`.
    """
    table = ops.pad(embeddings, ((1, 0), (0, 0)))
    # Keras counts negative indices from the end: move them out of range.
    words = ops.where(words < 0, table.shape[0], words)
    return ops.take(table, words, axis=0)


def convolve_and_pool(x, kernels, positions):
    """Unpadded convolutions of `x`, then the maximum over positions.

    Args:
        x: Tensor `(words, chars, dim)`.
        kernels: List of tensors `(width, dim, number)`.
        positions: Number of windows of each width to use, from the first one.

    Returns:
        Tensor `(words, sum of the numbers)`.
    """
    # With so few channels, one matrix multiply of all windows is faster than
    # `ops.conv`, and its gradient is much faster.
    widths = [kernel.shape[0] for kernel in kernels]
    # The first, second, ... element of each window.
    elements = [x[:, i : i + positions] for i in range(max(widths))]
    pooled = []
    for width, kernel in zip(widths, kernels):
        dim, number = kernel.shape[1:]
        # A word has fewer windows of a large width.
        count = ops.shape(elements[width - 1])[1]
        windows = ops.concatenate(
            [element[:, :count] for element in elements[:width]], axis=-1
        )
        windows = ops.reshape(windows, (-1, width * dim))
        kernel = ops.reshape(kernel, (width * dim, number))
        convolved = ops.matmul(windows, kernel)  # (words * count, number)
        convolved = ops.reshape(convolved, (-1, count, number))
        pooled.append(ops.max(convolved, axis=1))
    return ops.concatenate(pooled, axis=-1)
