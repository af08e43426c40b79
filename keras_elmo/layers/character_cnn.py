import functools

import keras
from keras import ops

from keras_elmo.checks import check_integer
from keras_elmo.checks import pairs_of_filters
from keras_elmo.layers.base_layers import TokenEncoder
from keras_elmo.layers.highway import Highway
from keras_elmo.ops.backends import backend
from keras_elmo.ops.private_keras import refuse_onnx_export
from keras_elmo.ops.weights import new_weight
from keras_elmo.ops.weights import read_weight

_TRAINING_GROUPS = 8


class CharacterCNN(TokenEncoder):
    """Base class of token encoders that read a word's characters.

    ```
    e = embeddings[ids]                                (chars, embedding_dim)
    f_w = activation(max over positions(conv_w(e)) + bias_w)     for each width
    x = highways(concatenate(f_1, f_2, ...))                       (filters,)
    ```

    Subclasses create the weights with `build_characters` and
    `build_projection`, and call `encode_characters` in `encode`.
    """

    def __init__(
        self,
        filters,
        num_highways,
        embedding_dim,
        activation,
        max_characters_per_token,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_integer("num_highways", num_highways, 0)
        check_integer("embedding_dim", embedding_dim, 1)
        check_integer("max_characters_per_token", max_characters_per_token, 3)
        self.filters = pairs_of_filters(filters, max_characters_per_token)
        if self.filters is None:
            raise ValueError(
                "`filters` must be pairs (width, number) of positive integers, "
                "with widths up to `max_characters_per_token`="
                f"{max_characters_per_token}. Received: filters={filters}"
            )
        self.num_filters = sum(number for _, number in self.filters)
        self.num_highways = num_highways
        self.embedding_dim = embedding_dim
        self.activation = keras.activations.get(activation)
        self.max_characters_per_token = max_characters_per_token
        self.highways = [
            Highway(dtype=self.dtype_policy, name=f"highway_{i}")
            for i in range(num_highways)
        ]
        self._pass_on_trainable()
        self.supports_jit = backend().supports_jit

    def _encode(self, rows, training):
        """Encodes ids `(words, *token_shape)` as vectors `(words, dim)`."""
        raise NotImplementedError

    def build_characters(self, num_characters):
        """Creates the weights, for ids from 1 to `num_characters`."""
        # Row i is for id i + 1; id 0, padding, has no row.
        self.embeddings = new_weight(
            self,
            "embeddings",
            (num_characters, self.embedding_dim),
            keras.initializers.RandomUniform(-1.0, 1.0),
        )
        self.conv_kernels = []
        self.conv_biases = []
        for i, (width, number) in enumerate(self.filters):
            if self.activation is keras.activations.relu:
                initializer = keras.initializers.RandomUniform(-0.05, 0.05)
            else:
                deviation = (width * self.embedding_dim) ** -0.5
                initializer = keras.initializers.RandomNormal(stddev=deviation)
            kernel = new_weight(
                self,
                f"conv_{i}_kernel",
                (width, self.embedding_dim, number),
                initializer,
            )
            bias = new_weight(self, f"conv_{i}_bias", (number,))
            self.conv_kernels.append(kernel)
            self.conv_biases.append(bias)
        for highway in self.highways:
            highway.build((None, self.num_filters))

    def build_projection(self, features):
        """Creates the weights of a projection, from vectors of `features`."""
        self.projection_kernel = new_weight(
            self, "projection_kernel", (features, self.projection_dim)
        )
        self.projection_bias = new_weight(
            self, "projection_bias", (self.projection_dim,)
        )

    def call(self, inputs, training=None):
        refuse_onnx_export(self)
        rows = ops.reshape(inputs, (-1, *self.token_shape))
        encode = functools.partial(self._encode, training=training)
        vectors = backend().map_distinct_rows(encode, rows)
        shape = (*ops.shape(inputs)[:-1], vectors.shape[-1])
        return ops.reshape(vectors, shape)  # (..., projection)

    def encode_characters(self, words, training):
        """Encodes ids `(words, chars)` as vectors `(words, filters)`."""
        if training and self.trainable_variables:
            # The gradient of the maxima is the costliest part, so words are
            # grouped by length.
            x = backend().map_groups_by_length(
                self._convolve, words, _TRAINING_GROUPS
            )
        else:
            x = self._convolve(words)
        for highway in self.highways:
            x = highway(x)
        return x

    def _convolve(self, words):
        widest, _ = max(self.filters)
        length = backend().varying_length(words)
        words = words[:, : length + widest]
        dtype = self.compute_dtype
        embeddings = read_weight(self.embeddings, dtype)
        kernels = [read_weight(kernel, dtype) for kernel in self.conv_kernels]
        biases = [read_weight(bias, dtype) for bias in self.conv_biases]
        x = embed_characters(words, embeddings)
        # The windows within the constant end are all equal: one is enough.
        x = convolve_and_pool(x, kernels, length + 1)
        return self.activation(x + ops.concatenate(biases))

    def get_config(self):
        return {
            **super().get_config(),
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
    embeddings = ops.convert_to_tensor(embeddings)
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
