from collections.abc import Iterable
from typing import Any

import keras
import numpy as np

from keras_elmo.text.byte_spelling import ByteSpelling
from keras_elmo.text.spelling import Spelling
from keras_elmo.text.word_lists import checked_sentences
from keras_elmo.text.word_lists import find_words
from keras_elmo.text.word_lists import padded_batch


@keras.saving.register_keras_serializable(package="keras_elmo")
class WordVectorization(keras.layers.Layer):
    """Turns words or sentences into ids for a token encoder.

    ```
    ids[i, j] = spelling(words[i, j])                          (*token_shape,)
    ```

    Each token encoder's method `make_vectorization` returns the matching
    vectorization. There are two ways to convert words to ids, with the same
    result: the method `batch_to_ids`, in Python, on any backend; and a call,
    which runs in a TensorFlow graph. A call uses only TensorFlow's core
    operations and no tables that need initialisation. So models that begin
    with it, and `tf.data` pipelines, accept strings anywhere.

    Args:
        spelling: Defines how words become ids, `token_encoder.spelling`.
            Defaults to that of `CharCNNEmbedding`, whose ids are those of the
            function `batch_to_ids`.
        split: With `"space"`, strings of rank 1 are sentences, which are split
            on runs of spaces (only U+0020), and strings of rank 2 are words.
            With `None`, nothing is split, and strings of rank 1 are the words
            of one sentence, as in the elements of a dataset before batching:
            `dataset.map(WordVectorization(split=None)).padded_batch(32)`.
        **kwargs: Base layer keyword arguments, such as `name`.

    Call arguments:
        inputs: Strings, as a tensor, an array or a list. Words have one row per
            sentence, padded at the end with `""`; or they are a list of lists
            or a `tf.RaggedTensor`, without padding.
        sequence_len: Integer tensor of shape `(batch,)`, the number of words in
            each row of padded words; everything after them is padding. Without
            it, each `""` at the end of a row is padding.

    Input shape:
        `(batch,)` or `(batch, time)`; with `split=None`, `(time,)` or `(batch,
        time)`.

    Output shape:
        `(batch, time, *token_shape)`, int32; `(time, *token_shape)` for the
        words of one sentence. For sentences and ragged words, `time` is the
        length of the longest sentence.

    Masking:
        Padding has ids of zero, which the token encoders and `ElmoLayer` treat
        as padding. A `""` that is not padding is an empty word: one before a
        later word, within `sequence_len`, or in a ragged row.

    Raises:
        ValueError: If the inputs are not strings or have the wrong rank, or
            `sequence_len` is passed with anything other than padded words; also
            as for `batch_to_ids`.
        tf.errors.InvalidArgumentError: If `sequence_len` does not have one
            number per row, or a number is negative or greater than `time`; or
            if a word is not in the vocabulary, which has no unknown word.
        RuntimeError: If called on Keras' JAX or PyTorch backend; use
            `batch_to_ids` there.

    Example:

    >>> layer = WordVectorization()
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

    def __init__(
        self,
        spelling: Spelling | None = None,
        split: str | None = "space",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if split not in ("space", None):
            raise ValueError(
                f"`split` must be 'space' or None. Received: split={split!r}"
            )
        self.spelling = ByteSpelling() if spelling is None else spelling
        if not isinstance(self.spelling, Spelling):
            raise ValueError(
                "`spelling` must be a `Spelling`, such as "
                "`token_encoder.spelling`. "
                f"Received: spelling={spelling!r}"
            )
        self.split = split
        self.supports_jit = False  # XLA does not support strings.

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
            ValueError: If a sentence is a string instead of a list of words, or
                a word is neither a string nor bytes, or is not in the
                vocabulary, which has no unknown word.
        """
        sentences = checked_sentences(sentences)
        return padded_batch(sentences, self.spelling.ids_of_words)

    def find_cropped_words(
        self, sentences: Iterable[Iterable[str | bytes]]
    ) -> list[tuple[int, int, str | bytes]]:
        """Lists the words that are too long, so that their end is ignored.

        Non-Latin scripts need two to four bytes per character, so long words in
        these scripts may be cropped.

        Args:
            sentences: As for `batch_to_ids`.

        Returns:
            List of `(sentence index, word index, word)`, in text order.

        Example:

        >>> layer = WordVectorization()
        >>> layer.find_cropped_words([["short", "x" * 49]])
        [(0, 1, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx')]
        """
        return find_words(sentences, self.spelling.is_cropped)

    def __call__(self, inputs, *args, **kwargs):
        if keras.backend.backend() != "tensorflow":
            raise RuntimeError(
                f"`{type(self).__name__}` takes strings only on Keras' "
                "TensorFlow backend; on other backends, make the ids in Python "
                "with its method `batch_to_ids`. "
                f"Received: backend='{keras.backend.backend()}'"
            )
        return super().__call__(self._as_strings(inputs), *args, **kwargs)

    def call(self, inputs, sequence_len=None):
        import tensorflow as tf

        from keras_elmo.text import graph_tokens

        self._check(inputs, sequence_len)
        is_sentence = len(inputs.shape) == 1 and self.split is None
        if is_sentence:
            inputs = inputs[None]
            sequence_len = None if sequence_len is None else [sequence_len]
        elif len(inputs.shape) == 1:
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
        ids = graph_tokens.token_ids(
            tokens, lengths, self.spelling.ids_in_graph
        )
        return ids[0] if is_sentence else ids

    def _as_strings(self, inputs):
        is_tensor = hasattr(inputs, "shape")
        if is_tensor and not hasattr(inputs, "__array_interface__"):
            return inputs
        import tensorflow as tf

        is_nested = isinstance(inputs, (list, tuple)) and any(
            isinstance(row, (list, tuple)) for row in inputs
        )
        make = tf.ragged.constant if is_nested else tf.convert_to_tensor
        try:
            return make(inputs, dtype=tf.string)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self._expected()} {inputs!r}") from error

    def _check(self, inputs, sequence_len):
        rank = len(inputs.shape)
        dtype = keras.backend.standardize_dtype(inputs.dtype)
        if dtype != "string" or rank not in (1, 2):
            raise ValueError(
                f"{self._expected()} shape={tuple(inputs.shape)}, dtype={dtype}"
            )
        is_split = rank == 1 and self.split is not None
        if sequence_len is not None and (is_split or _is_ragged(inputs)):
            raise ValueError(
                "`sequence_len` is the number of words in each padded row: "
                "leave it out for sentences and for ragged words. Received: "
                f"sequence_len={sequence_len} with {inputs}"
            )

    def _expected(self):
        shapes = (
            "(time,), the words of one sentence, or (batch, time), the words "
            "of several"
            if self.split is None
            else "(batch,), which are sentences, or (batch, time), which are "
            "words"
        )
        return f"Layer '{self.name}' takes strings of shape {shapes}. Received:"

    def compute_output_spec(self, inputs, sequence_len=None):
        self._check(inputs, sequence_len)
        shape = self.compute_output_shape(inputs.shape)
        return keras.KerasTensor(shape, dtype="int32")

    def compute_output_shape(self, input_shape, sequence_len_shape=None):
        shape = tuple(input_shape)
        if len(shape) == 1 and self.split is not None:
            shape = (*shape, None)
        return (*shape, *self.spelling.token_shape)

    def get_config(self):
        return {
            **super().get_config(),
            "spelling": keras.saving.serialize_keras_object(self.spelling),
            "split": self.split,
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        config["spelling"] = keras.saving.deserialize_keras_object(
            config["spelling"]
        )
        return super().from_config(config)


def _is_ragged(inputs):
    import tensorflow as tf

    return isinstance(inputs, tf.RaggedTensor)
