from collections.abc import Iterable

import keras
import numpy as np

from keras_elmo.text.word_lists import checked_sentences
from keras_elmo.text.word_lists import find_words
from keras_elmo.text.word_lists import padded_batch


class WordVectorization(keras.layers.Layer):
    """Base of the layers that turn words into a token encoder's ids.

    Each token encoder that reads words names its own, by its method
    `make_vectorization`. There are two ways from words to ids, which agree:
    `batch_to_ids`, in Python, on any backend; and a call of the layer, inside a
    TensorFlow graph.

    Subclasses say how words become ids by `token_shape`, `num_ids`,
    `boundary_words`, `ids_of_words` and `ids_in_graph`; by `is_cropped` and
    `shortened` if what is too long loses its end; and by `begin_id` if every
    word begins alike.

    Args:
        **kwargs: Base layer keyword arguments, such as `name`.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_jit = False  # XLA has no strings.

    @property
    def token_shape(self):
        """Shape of one token's ids."""
        raise NotImplementedError

    @property
    def num_ids(self):
        """Integer; ids lie from 0, which is padding, to `num_ids - 1`."""
        raise NotImplementedError

    @property
    def boundary_words(self):
        """The words that stand for the sentence boundaries: two `bytes`."""
        raise NotImplementedError

    @property
    def begin_id(self):
        """What the ids of every word start with, an integer, or `None`."""
        return None

    def ids_of_words(self, words):
        """From a list of `n` words, as bytes, to int32 `(n, *token_shape)`."""
        raise NotImplementedError

    def ids_in_graph(self, words):
        """As `ids_of_words`, of a string tensor `(n,)`. TensorFlow only."""
        raise NotImplementedError

    def is_cropped(self, word):
        """Whether a word, as bytes, is too long to be read to its end."""
        return False

    def shortened(self, word):
        """Returns a word of the same ids, without what is not read of it."""
        return word

    def batch_to_ids(
        self, sentences: Iterable[Iterable[str | bytes]]
    ) -> np.ndarray:
        """Converts tokenised sentences to a padded batch of ids, in Python.

        Args:
            sentences: List of sentences, each a list of words. A word is a
                string, or bytes of UTF-8.

        Returns:
            int32 array `(batch, time, *token_shape)`, zero at padding.

        Raises:
            ValueError: If a string stands where a list of words belongs, or a
                word is neither a string nor bytes.
        """
        return padded_batch(checked_sentences(sentences), self.ids_of_words)

    def find_cropped_words(self, sentences):
        """Lists the words that are too long to be read to their end.

        Args:
            sentences: As for `batch_to_ids`.

        Returns:
            List of `(sentence index, word index, word)`, in text order.
        """
        return find_words(sentences, self.is_cropped)

    def __call__(self, inputs, *args, **kwargs):
        if keras.backend.backend() != "tensorflow":
            raise RuntimeError(
                f"`{type(self).__name__}` takes strings on Keras' TensorFlow "
                "backend alone; elsewhere make the ids in Python, by its "
                "`batch_to_ids`. "
                f"Received: backend='{keras.backend.backend()}'"
            )
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
        return graph_tokens.token_ids(tokens, lengths, self.ids_in_graph)

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
        return (batch, *(time or [None]), *self.token_shape)


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
