"""The encoded windows on which a model is trained. TensorFlow only."""

import collections
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_elmo.pretraining.token_streams import TokenStream
from keras_elmo.text.byte_spelling import ByteSpelling
from keras_elmo.text.vocabulary import Vocabulary

_PREFETCHED = 4


class TrainingWindow(NamedTuple):
    """A window of both directions: forward is 0, backward 1."""

    inputs: tf.Tensor
    """int32 `(2, rows, steps, max_characters_per_token)`, character ids; or,
    for a model with word input, `(2, rows, steps)`, ids in the vocabulary plus
    one (0 is padding, which does not occur here)"""
    targets: tf.Tensor
    """int32 `(2, rows, steps)`, ids in the vocabulary"""
    positions: list
    """The positions of both streams after this window"""


def training_windows(
    streams: tuple[TokenStream, TokenStream],
    vocabulary: Vocabulary,
    max_characters_per_token: int | None = 50,
) -> Iterator[TrainingWindow]:
    """Encodes the windows of two streams, some of them in advance.

    Args:
        streams: A forward and a backward `TokenStream` with the same rows and
            steps, which nothing else may use.
        vocabulary: `Vocabulary` of the targets.
        max_characters_per_token: Integer, the number of character ids per word;
            `None` for a model with word input.

    Yields:
        `TrainingWindow`s, endlessly.

    Raises:
        FileNotFoundError: As for `TokenStream.next_window`.
        ValueError: As for `TokenStream.next_window`.

    Example:

    >>> with open("shard.txt", "w") as file:
    ...     _ = file.write("a b\\nc\\n")
    >>> streams = [
    ...     TokenStream("shard.txt", direction, rows=1, steps=5)
    ...     for direction in ("forward", "backward")
    ... ]
    >>> vocabulary = Vocabulary([b"<S>", b"</S>", b"<UNK>", b"a", b"b"])
    >>> window = next(training_windows(streams, vocabulary))
    >>> window.inputs.shape, window.targets.shape
    (TensorShape([2, 1, 5, 50]), TensorShape([2, 1, 5]))
    """
    in_characters = max_characters_per_token is not None
    # Not in the dataset, whose elements can only be tensors.
    positions: collections.deque[list] = collections.deque()
    errors: list[Exception] = []

    def windows():
        try:
            while True:
                pairs = [stream.next_window() for stream in streams]
                positions.append([stream.position for stream in streams])
                inputs, targets = map(np.stack, zip(*pairs))
                if not in_characters:
                    inputs = _ids(vocabulary, inputs) + 1
                yield inputs, _ids(vocabulary, targets)
        except Exception as error:
            errors.append(error)
            raise

    shape = (2, streams[0].rows, streams[0].steps)
    dataset = tf.data.Dataset.from_generator(
        windows,
        output_signature=(
            tf.TensorSpec(shape, tf.string if in_characters else tf.int32),
            tf.TensorSpec(shape, tf.int32),
        ),
    )

    def encode(words, targets):
        words, places = tf.unique(tf.reshape(words, [-1]))
        ids = ByteSpelling(max_characters_per_token).ids_in_graph(words)
        inputs = tf.gather(ids, places)
        return tf.reshape(inputs, (*shape, ids.shape[-1])), targets

    if in_characters:
        dataset = dataset.map(encode, tf.data.AUTOTUNE, deterministic=True)
    try:
        for inputs, targets in dataset.prefetch(_PREFETCHED):
            yield TrainingWindow(inputs, targets, positions.popleft())
    except tf.errors.OpError:
        if not errors:
            raise
        # The streams' own error, not wrapped by TensorFlow.
        raise errors[0] from None


def _ids(vocabulary, words):
    return vocabulary.ids(words.ravel()).reshape(words.shape)
