import keras

from keras_elmo.text.character_ids import checked_width


@keras.saving.register_keras_serializable(package="keras_elmo")
class CharacterVectorization(keras.layers.Layer):
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
        RuntimeError: When made on Keras' JAX or PyTorch backend.

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

    def __init__(self, max_characters_per_token=50, **kwargs):
        if keras.backend.backend() != "tensorflow":
            raise RuntimeError(
                "`CharacterVectorization` runs on Keras' TensorFlow backend "
                "alone; elsewhere make the ids in Python, by "
                "`keras_elmo.batch_to_ids`. "
                f"Received: backend='{keras.backend.backend()}'"
            )
        super().__init__(**kwargs)
        self.max_characters_per_token = checked_width(max_characters_per_token)
        self.supports_jit = False  # XLA has no strings.

    def __call__(self, inputs, *args, **kwargs):
        return super().__call__(_as_strings(inputs, self.name), *args, **kwargs)

    def call(self, inputs, sequence_len=None):
        import tensorflow as tf

        from keras_elmo.text import graph_tokens

        self._check(inputs, sequence_len)
        if len(inputs.shape) == 1:
            inputs = graph_tokens.split_sentences(inputs)
        if isinstance(inputs, tf.RaggedTensor):
            tokens, lengths = graph_tokens.pad_tokens(inputs)
        elif sequence_len is None:
            tokens, lengths = inputs, graph_tokens.count_tokens(inputs)
        else:
            tokens = inputs
            lengths = graph_tokens.check_lengths(
                tf.convert_to_tensor(sequence_len), tokens
            )
        return graph_tokens.token_ids(
            tokens, lengths, self.max_characters_per_token
        )

    def _check(self, inputs, sequence_len):
        rank = len(inputs.shape)
        dtype = keras.backend.standardize_dtype(inputs.dtype)
        if dtype != "string" or rank not in (1, 2):
            raise ValueError(
                f"Layer '{self.name}' takes strings of shape (batch,), which "
                "are sentences, or (batch, time), which are words. "
                f"Received: shape={tuple(inputs.shape)}, dtype={dtype}"
            )
        if sequence_len is not None and (rank == 1 or _is_ragged(inputs)):
            raise ValueError(
                "`sequence_len` tells how many words a padded row holds: leave "
                "it out with sentences and with ragged words. Received: "
                f"sequence_len={sequence_len} with {inputs}"
            )

    def compute_output_spec(self, inputs, sequence_len=None):
        self._check(inputs, sequence_len)
        shape = self.compute_output_shape(inputs.shape)
        return keras.KerasTensor(shape, dtype="int32")

    def compute_output_shape(self, input_shape, sequence_len_shape=None):
        batch, *time = input_shape
        return (batch, *(time or [None]), self.max_characters_per_token)

    def get_config(self):
        return {
            **super().get_config(),
            "max_characters_per_token": self.max_characters_per_token,
        }


def _as_strings(inputs, name):
    if hasattr(inputs, "shape") and not hasattr(inputs, "__array_interface__"):
        return inputs
    import tensorflow as tf

    if isinstance(inputs, (list, tuple)) and any(
        isinstance(row, (list, tuple)) for row in inputs
    ):
        make = tf.ragged.constant
    else:
        make = tf.convert_to_tensor
    try:
        return make(inputs, dtype=tf.string)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Layer '{name}' takes strings of shape (batch,), which are "
            "sentences, or (batch, time), which are words. "
            f"Received: {inputs!r}"
        ) from error


def _is_ragged(inputs):
    import tensorflow as tf

    return isinstance(inputs, tf.RaggedTensor)
