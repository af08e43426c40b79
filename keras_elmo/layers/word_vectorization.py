from collections.abc import Iterable
from typing import Any

import keras
import numpy as np

from keras_elmo.checks import check_choice
from keras_elmo.ops.backends import backend
from keras_elmo.text.byte_indexer import ByteIndexer
from keras_elmo.text.character_indexer import CharacterIndexer
from keras_elmo.text.token_indexer import TokenIndexer
from keras_elmo.text.word_lists import find_words
from keras_elmo.text.word_lists import padded_batch

# Words become ids without Keras, but Keras saves and loads how they do.
for _indexer in (ByteIndexer, CharacterIndexer):
    keras.saving.register_keras_serializable("keras_elmo")(_indexer)

# The shapes of strings for each value of `split`.
_SHAPES = {
    None: '(batch, time), which are words, such as [["A", "sentence"]], or '
    "(time,), the words of one sentence; for sentences, pass "
    "`split='whitespace'`",
    "whitespace": "(batch,), (batch, 1) or (), which are sentences, such as "
    '["A sentence"]; for words, pass `split=None`',
}


@keras.saving.register_keras_serializable(package="keras_elmo")
class WordVectorization(keras.layers.Layer):
    """Lets a model or a `tf.data` pipeline take strings instead of ids.

    ```
    ids[i, j] = indexer(words[i, j])                          (*token_shape,)
    ```

    Put it before an `ElmoLayer`, as you would put `TextVectorization` before an
    `Embedding`. Each token encoder's method `make_vectorization` returns the
    one whose ids it takes. There are two ways to convert words to ids, with the
    same result: the method `batch_to_ids`, in Python, on any backend; and a
    call, which runs in a TensorFlow graph. A call uses only TensorFlow's core
    operations and no tables that need initialisation. So models that begin
    with it, and `tf.data` pipelines, accept strings anywhere. In pipelines it
    works with every Keras backend, if TensorFlow is installed.

    Args:
        indexer: Defines how words become ids, `token_encoder.indexer`.
            Defaults to that of `CharCNNEmbedding`, whose ids are those of the
            function `batch_to_ids`.
        split: What the strings of a call are.

            - `None`, the default: words, which are never split, `(batch,
              time)`; or `(time,)`, those of a single sentence, as in the
              elements of a dataset before batching:
              `dataset.map(WordVectorization()).padded_batch(32)`.
            - `"whitespace"`: sentences, `(batch,)`, or `(batch, 1)` as for
              `keras.layers.TextVectorization`, or `()`, a single one. They are
              split on runs of ASCII's white space, as by `tf.strings.split`.
        **kwargs: Base layer keyword arguments, such as `name`.

    Call arguments:
        inputs: Strings, as a tensor, an array or a list. Words have one row per
            sentence, padded at the end with `""`; or they are a list of lists
            or a `tf.RaggedTensor`, without padding. To `fit` and `predict` of a
            model, pass `tf.constant(sentences)` or a `tf.data.Dataset`: Keras
            itself refuses lists and NumPy's arrays of strings there ("Invalid
            dtype: str288").
        sequence_len: Integer tensor of shape `(batch,)`, or `()` for a single
            sentence: the number of words in each row of padded words.
            Everything after them is padding. Without it, each `""` at the end
            of a row is padding.

    Input shape:
        `(batch, time)`, or as `split` says.

    Output shape:
        `(batch, time, *token_shape)`, int32; `(time, *token_shape)` for a
        single sentence. For sentences and ragged words, `time` is the
        length of the longest sentence.

    Masking:
        Padding has ids of zero, which the token encoders and `ElmoLayer` treat
        as padding. A `""` that is not padding is an empty word: one before a
        later word, within `sequence_len`, or in a ragged row.

    Raises:
        ValueError: If the inputs are not strings or have the wrong shape, or
            `sequence_len` is passed with anything other than padded words; also
            as for `batch_to_ids`.
        tf.errors.InvalidArgumentError: If `sequence_len` does not have one
            number per row, or a number is negative or greater than `time`; or
            if words of shape `(time,)` or `(batch, 1)`, without `sequence_len`,
            have white space in them, because these may be sentences.
        RuntimeError: If a model on Keras' JAX or PyTorch backend begins with
            it; make the ids in its `tf.data` pipeline, or with `batch_to_ids`.

    Example:

    >>> import tensorflow as tf
    >>> layer = WordVectorization(split="whitespace")
    >>> elmo = ElmoLayer.from_preset("english_mini")
    >>> inputs = keras.Input((), dtype="string")
    >>> model = keras.Model(inputs, elmo(layer(inputs)))
    >>> model(tf.constant(["First sentence .", "Another  ."])).shape
    TensorShape([2, 3, 512])
    >>> ids = layer(["First sentence .", "Another  ."])
    >>> expected = batch_to_ids([["First", "sentence", "."], ["Another", "."]])
    >>> bool(np.all(ids == expected))
    True

    Reference:

    - [Peters et al., 2018](https://arxiv.org/abs/1802.05365)
    """

    def __init__(
        self,
        indexer: TokenIndexer | None = None,
        split: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_choice("split", split, tuple(_SHAPES))
        self.indexer = ByteIndexer() if indexer is None else indexer
        if not isinstance(self.indexer, TokenIndexer):
            raise ValueError(
                "`indexer` must be a `TokenIndexer`, such as "
                f"`token_encoder.indexer`. Received: indexer={indexer!r}"
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
                a word is neither a string nor bytes.
        """
        return padded_batch(sentences, self.indexer.ids_of_words)

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
        return find_words(sentences, self.indexer.is_cropped)

    def __call__(self, inputs, *args, **kwargs):
        if backend().has_strings:
            return super().__call__(self._as_strings(inputs), *args, **kwargs)
        try:
            import tensorflow as tf
        except ImportError:
            tf = None
        if tf is None or isinstance(inputs, keras.KerasTensor):
            raise RuntimeError(
                f"`{type(self).__name__}` takes strings in models on Keras' "
                "TensorFlow backend, and wherever TensorFlow is installed in "
                "`tf.data` pipelines; elsewhere, make the ids in Python with "
                "its method `batch_to_ids`. "
                f"Received: backend='{backend().name}'"
            )
        ids = self.call(self._as_strings(inputs), *args, **kwargs)
        is_eager = tf.executing_eagerly()
        return keras.ops.convert_to_tensor(ids.numpy()) if is_eager else ids

    def call(self, inputs, *, sequence_len=None):
        import tensorflow as tf

        from keras_elmo.text import graph_tokens

        self._check(inputs, sequence_len)
        is_sentence = len(inputs.shape) == (0 if self.split else 1)
        if self.split:
            inputs = tf.strings.split(tf.reshape(inputs, [-1]))
        elif is_sentence:
            inputs = inputs[None]
            sequence_len = None if sequence_len is None else [sequence_len]
        if sequence_len is not None:
            tokens, lengths = inputs, tf.convert_to_tensor(sequence_len)
            lengths = graph_tokens.check_lengths(lengths, tokens)
        else:
            tokens, lengths = graph_tokens.pad_tokens(inputs)
            if not self.split:
                tokens = graph_tokens.check_words(tokens, is_sentence)
        ids = graph_tokens.token_ids(tokens, lengths, self.indexer.ids_in_graph)
        return ids[0] if is_sentence else ids

    def _as_strings(self, inputs):
        is_tensor = hasattr(inputs, "shape")
        if is_tensor and not hasattr(inputs, "__array_interface__"):
            return inputs
        import tensorflow as tf

        is_nested = isinstance(inputs, (list, tuple)) and any(
            isinstance(row, (list, tuple)) for row in inputs
        )
        is_ragged = is_nested and not self.split
        make = tf.ragged.constant if is_ragged else tf.convert_to_tensor
        try:
            return make(inputs, dtype=tf.string)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self._expected()} {inputs!r}") from error

    def _check(self, inputs, sequence_len):
        shape = tuple(inputs.shape)
        dtype = keras.backend.standardize_dtype(inputs.dtype)
        is_ragged = type(inputs).__name__ == "RaggedTensor"
        is_right = len(shape) in (1, 2)
        if self.split:
            is_column = shape[1:] == (1,) and not is_ragged
            is_right = len(shape) < 2 or is_column
        if dtype != "string" or not is_right:
            raise ValueError(f"{self._expected()} shape={shape}, dtype={dtype}")
        if sequence_len is not None and (self.split or is_ragged):
            raise ValueError(
                "`sequence_len` is the number of words in each padded row: "
                "leave it out for sentences and for ragged words. Received: "
                f"sequence_len={sequence_len} with {inputs}"
            )

    def _expected(self):
        return (
            f"Layer '{self.name}', with split={self.split!r}, takes strings of "
            f"shape {_SHAPES[self.split]}. Received:"
        )

    def compute_output_spec(self, inputs, sequence_len=None):
        self._check(inputs, sequence_len)
        # The words of one sentence have no batch axis, but a symbolic input
        # does.
        may_be_sentences = tuple(inputs.shape)[1:] in ((), (1,))
        if self.split is None and may_be_sentences and sequence_len is None:
            raise ValueError(f"{self._expected()} {inputs}")
        shape = self.compute_output_shape(inputs.shape)
        return keras.KerasTensor(shape, dtype="int32")

    def compute_output_shape(self, input_shape, sequence_len_shape=None):
        shape = tuple(input_shape)
        if self.split:
            shape = (*shape[:1], None)
        return (*shape, *self.indexer.token_shape)

    def get_config(self):
        return {
            **super().get_config(),
            "indexer": keras.saving.serialize_keras_object(self.indexer),
            "split": self.split,
        }

    @classmethod
    def from_config(cls, config):
        indexer = keras.saving.deserialize_keras_object(config.get("indexer"))
        return super().from_config({**config, "indexer": indexer})


def vectorization_of(token_encoder: keras.layers.Layer) -> WordVectorization:
    """Returns the `WordVectorization` for a token encoder.

    It calls the token encoder's method `make_vectorization`. Without that
    method, a token encoder with several ids per token is assumed to take the
    ids of `batch_to_ids`.

    Args:
        token_encoder: Layer that encodes a token's ids as a vector.

    Raises:
        ValueError: If the token encoder does not accept words.
    """
    make = getattr(token_encoder, "make_vectorization", None)
    if make is not None:
        return make()
    token_shape = getattr(token_encoder, "token_shape", ())
    if len(token_shape) == 1:
        return WordVectorization(ByteIndexer(*token_shape))
    raise ValueError(
        "To accept words, a token encoder must have a method "
        "`make_vectorization` that returns a layer from words to ids, as in "
        f"`CharCNNEmbedding`. Received: token_encoder={token_encoder}"
    )
