import keras
from keras import ops

from keras_elmo.layers.arguments import check_integer
from keras_elmo.layers.freezable_layer import FreezableLayer
from keras_elmo.layers.highway import Highway
from keras_elmo.layers.initializers import fan_in_normal
from keras_elmo.layers.initializers import for_large_matrix
from keras_elmo.ops.fast_paths import choose
from keras_elmo.ops.fast_paths import map_distinct_rows
from keras_elmo.ops.fast_paths import map_groups_by_length
from keras_elmo.ops.fast_paths import varying_length
from keras_elmo.ops.ids import check_ids
from keras_elmo.ops.known_rows import looked_up
from keras_elmo.text import character_ids
from keras_elmo.text.character_vectorization import CharacterVectorization

_TRAINING_GROUPS = 8

PAPER_FILTERS = (
    (1, 32),
    (2, 32),
    (3, 64),
    (4, 128),
    (5, 256),
    (6, 512),
    (7, 1024),
)


@keras.saving.register_keras_serializable(package="keras_elmo")
class CharCNNEmbedding(FreezableLayer):
    """Embeds words by their characters, whatever their neighbours.

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
        filters: Pairs `(width, number)`, one a convolution.
        num_highways: Integer, number of `Highway` layers; may be 0.
        embedding_dim: Integer, size of a character's vector.
        activation: Activation of the convolutions; `"relu"` or `"tanh"` in
            published models. Must not decrease anywhere, as it is applied
            after the maximum.
        max_characters_per_token: Integer, number of ids a word.
        **kwargs: Base layer keyword arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Integer tensor of shape `(..., max_characters_per_token)`, as
            `batch_to_ids` makes it, with ids from 0 to 261.

    Input shape:
        `(..., max_characters_per_token)`.

    Output shape:
        `(..., projection_dim)`.

    Masking:
        A word whose ids are all zero is padding: it is masked in the output,
        where it holds some constant vector.

    Raises:
        ValueError: If the ids are not integers, have another width, or lie
            outside 0..261. In a compiled function, where values cannot be
            looked at, the backend's own lookup reports ids out of range.

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
        projection_dim=512,
        filters=PAPER_FILTERS,
        num_highways=2,
        embedding_dim=16,
        activation="relu",
        max_characters_per_token=50,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_integer("projection_dim", projection_dim, 1, optional=True)
        check_integer("num_highways", num_highways, 0)
        check_integer("embedding_dim", embedding_dim, 1)
        check_integer("max_characters_per_token", max_characters_per_token, 3)
        self.filters = _checked_filters(filters, max_characters_per_token)
        self.projection_dim = projection_dim
        self.num_highways = num_highways
        self.embedding_dim = embedding_dim
        self.activation = keras.activations.get(activation)
        self.max_characters_per_token = max_characters_per_token
        self.highways = [
            Highway(dtype=self.dtype_policy, name=f"highway_{i}")
            for i in range(num_highways)
        ]
        self._pass_on_trainable()
        # Neither distinct words nor their padding have sizes that XLA knows.
        self.supports_jit = keras.backend.backend() != "tensorflow"

    @property
    def token_shape(self):
        """Shape of one token's ids."""
        return (self.max_characters_per_token,)

    @property
    def boundary_ids(self):
        """The ids of `<S>` and `</S>`, an array `(2, *token_shape)`."""
        return character_ids.boundary_ids(self.max_characters_per_token)

    def make_vectorization(self):
        """Returns the layer that turns words into this one's ids."""
        return CharacterVectorization(self.max_characters_per_token)

    @property
    def num_filters(self):
        """Total number of convolution filters."""
        return sum(number for _, number in self.filters)

    @property
    def has_projection(self):
        """Whether a linear projection follows the highways."""
        return self.projection_dim not in (None, self.num_filters)

    def build(self, input_shape):
        # Row i is for id i + 1; id 0, padding, has no weights of its own.
        self.embeddings = self.add_weight(
            shape=(character_ids.NUM_IDS - 1, self.embedding_dim),
            initializer=keras.initializers.RandomUniform(-1.0, 1.0),
            name="embeddings",
        )
        self.conv_kernels = []
        self.conv_biases = []
        for i, (width, number) in enumerate(self.filters):
            kernel = self.add_weight(
                shape=(width, self.embedding_dim, number),
                initializer=self._conv_initializer(width),
                name=f"conv_{i}_kernel",
            )
            bias = self.add_weight(
                shape=(number,), initializer="zeros", name=f"conv_{i}_bias"
            )
            self.conv_kernels.append(kernel)
            self.conv_biases.append(bias)
        for highway in self.highways:
            highway.build((None, self.num_filters))
        if self.has_projection:
            self.projection_kernel = self.add_weight(
                shape=(self.num_filters, self.projection_dim),
                initializer=for_large_matrix(fan_in_normal()),
                name="projection_kernel",
            )
            self.projection_bias = self.add_weight(
                shape=(self.projection_dim,),
                initializer="zeros",
                name="projection_bias",
            )

    def _conv_initializer(self, width):
        if self.activation is keras.activations.relu:
            return keras.initializers.RandomUniform(-0.05, 0.05)
        deviation = (width * self.embedding_dim) ** -0.5
        return keras.initializers.RandomNormal(stddev=deviation)

    def call(self, inputs, training=None):
        inputs = check_ids(
            inputs, self.token_shape, character_ids.NUM_IDS, self.name
        )
        words = ops.reshape(inputs, (-1, self.max_characters_per_token))

        def embed(words):
            return self._embed(words, training)

        embed = looked_up(self, embed)
        vectors = map_distinct_rows(embed, words)  # (words, projection)
        shape = (*ops.shape(inputs)[:-1], vectors.shape[-1])
        return ops.reshape(vectors, shape)  # (..., projection)

    def _embed(self, words, training):
        # In training, where the maxima cost most, short words are apart.
        groups = _TRAINING_GROUPS if training else 1
        x = map_groups_by_length(self._convolve, words, groups)
        for highway in self.highways:
            x = highway(x)
        if self.has_projection:
            x = ops.matmul(x, self.projection_kernel) + self.projection_bias
        return x  # (words, projection)

    def _convolve(self, words):
        widest = max(width for width, _ in self.filters)
        length = varying_length(words)
        words = words[:, : length + widest]
        x = embed_characters(words, self.embeddings)  # (words, chars, dim)
        # Of the windows that lie in the constant end, one is enough.
        x = choose(
            length + widest <= self.max_characters_per_token,
            lambda: convolve_and_pool(x, self.conv_kernels, length + 1),
            lambda: convolve_and_pool(x, self.conv_kernels),
        )
        return self.activation(x + ops.concatenate(self.conv_biases))

    def compute_mask(self, inputs, previous_mask=None):
        if previous_mask is not None:
            return previous_mask
        return ops.any(inputs, axis=-1)  # any id that is not 0

    def compute_output_spec(self, inputs, training=None):
        check_ids(inputs, self.token_shape, character_ids.NUM_IDS, self.name)
        return super().compute_output_spec(inputs)

    def compute_output_shape(self, input_shape):
        dim = self.projection_dim if self.has_projection else self.num_filters
        return (*input_shape[:-1], dim)

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


def _checked_filters(filters, max_width):
    filters = [tuple(pair) for pair in filters]
    good = filters and all(
        len(pair) == 2 and 1 <= pair[0] <= max_width and pair[1] >= 1
        for pair in filters
    )
    if not good:
        raise ValueError(
            "`filters` must be pairs (width, number) of positive integers, no "
            f"width above `max_characters_per_token`={max_width}. "
            f"Received: filters={filters}"
        )
    return filters


def embed_characters(words, embeddings):
    """Looks up `words` (words, chars) -> (words, chars, embedding_dim).

    Id 0 gives zeros, id i the row i - 1 of `embeddings`.
    """
    embeddings = ops.convert_to_tensor(embeddings)
    table = ops.pad(embeddings, ((1, 0), (0, 0)))
    # Keras counts a negative index from the end: send it out of range instead.
    words = ops.where(words < 0, table.shape[0], words)
    return ops.take(table, words, axis=0)


def convolve_and_pool(x, kernels, positions=None):
    """Unpadded convolutions of `x`, maximum over positions.

    Args:
        x: Tensor `(words, chars, dim)`.
        kernels: List of tensors `(width, dim, number)`.
        positions: How many windows of each width to look at, from the first on.
            Defaults to all.

    Returns:
        Tensor `(words, sum of the numbers)`.
    """
    # With so few channels, a product of all windows is faster than `ops.conv`,
    # and its gradient far more so.
    if positions is not None:
        widest = max(kernel.shape[0] for kernel in kernels)
        shared = _shifted(x, widest, positions)
    pooled = []
    for kernel in kernels:
        width, dim, number = kernel.shape
        if positions is None:
            count = ops.shape(x)[1] - width + 1
            shifted = _shifted(x, width, count)
        else:
            count, shifted = positions, shared[:width]
        windows = ops.concatenate(shifted, axis=-1)
        kernel = ops.reshape(kernel, (width * dim, number))
        convolved = ops.matmul(windows, kernel)  # (words * count, number)
        convolved = ops.reshape(convolved, (-1, count, number))
        pooled.append(ops.max(convolved, axis=1))
    return ops.concatenate(pooled, axis=-1)


def _shifted(x, width, count):
    """The first, second, ... `width`-th element of `count` windows.

    A list of tensors `(words * count, dim)`.
    """
    dim = x.shape[-1]
    return [ops.reshape(x[:, i : i + count], (-1, dim)) for i in range(width)]
