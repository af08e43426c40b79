"""Datasets of windows, encoded for a model. TensorFlow only."""

from collections.abc import Callable
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from keras_elmo.pretraining.token_streams import DIRECTIONS
from keras_elmo.pretraining.token_streams import TokenStream
from keras_elmo.text.byte_spelling import ByteSpelling
from keras_elmo.text.vocabulary import Vocabulary

_PREFETCHED = 4


class WindowDataset:
    """The windows of both directions, with the errors that befell them.

    Iterating is as over `make_dataset(...)`, which is `dataset`; but an error
    that the streams raise, such as a `FileNotFoundError` for a shard, comes out
    as it is, not wrapped by TensorFlow.

    Args:
        streams: As in `make_dataset`.
        vocabulary: As in `make_dataset`.
        max_characters_per_token: As in `make_dataset`.

    Example:

    >>> with open("shard.txt", "w") as file:
    ...     _ = file.write("a b\\nc\\n")
    >>> streams = [
    ...     TokenStream("shard.txt", direction, rows=1, steps=5)
    ...     for direction in ("forward", "backward")
    ... ]
    >>> vocabulary = Vocabulary([b"<S>", b"</S>", b"<UNK>", b"a", b"b"])
    >>> for window in WindowDataset(streams, vocabulary):
    ...     break
    >>> window["inputs"].shape, window["targets"].shape
    (TensorShape([2, 1, 5, 50]), TensorShape([2, 1, 5]))
    """

    def __init__(
        self,
        streams: tuple[TokenStream, TokenStream],
        vocabulary: Vocabulary,
        max_characters_per_token: int | None = 50,
    ):
        self._error: Exception | None = None
        self.dataset = make_dataset(
            streams, vocabulary, max_characters_per_token, self._keep
        )

    def __iter__(self) -> Iterator[dict[str, tf.Tensor]]:
        self._error = None
        try:
            yield from self.dataset
        except tf.errors.OpError:
            if self._error is None:
                raise
            raise self._error from None

    def _keep(self, error):
        self._error = error


def make_dataset(
    streams: tuple[TokenStream, TokenStream],
    vocabulary: Vocabulary,
    max_characters_per_token: int | None = 50,
    on_error: Callable[[Exception], None] | None = None,
) -> tf.data.Dataset:
    """Makes the windows of both directions, encoded, as a dataset.

    It has no end. Each iteration over it starts where the streams stand now,
    and works on copies: the streams themselves stay where they are. How far an
    iteration is, its elements tell.

    Args:
        streams: A forward and a backward `TokenStream` of equal rows and steps.
        vocabulary: `Vocabulary` of the targets.
        max_characters_per_token: Integer, the number of character ids a word;
            `None` for a model whose inputs are words.
        on_error: Function called with what the streams raise. TensorFlow then
            raises an error of its own.

    Returns:
        A `tf.data.Dataset` of dictionaries, in all of which forward is 0 and
        backward 1:

        - `inputs`: int32 `(2, rows, steps, max_characters_per_token)`,
          character ids; or, for a model of words, `(2, rows, steps)`, their
          ids in the vocabulary plus one (0 marks padding, of which there is
          none here).
        - `targets`: int32 `(2, rows, steps)`, ids in the vocabulary.
        - `position`: int64 `(2, rows + 2, 5)`, the streams' positions after
          this window.
    """
    streams = _checked(streams)
    starts = [stream.position for stream in streams]
    shape = (len(streams), streams[0].rows, streams[0].steps)
    in_characters = max_characters_per_token is not None

    def windows():
        try:
            current = [s.at(start) for s, start in zip(streams, starts)]
            while True:
                pairs = [stream.next_window() for stream in current]
                inputs, targets = map(np.stack, zip(*pairs))
                if not in_characters:
                    inputs = _ids(vocabulary, inputs) + 1
                yield {
                    "inputs": inputs,
                    "targets": _ids(vocabulary, targets),
                    "position": np.stack([s.position for s in current]),
                }
        except Exception as error:
            if on_error is not None:
                on_error(error)
            raise

    def encode(window):
        words, places = tf.unique(tf.reshape(window["inputs"], [-1]))
        ids = ByteSpelling(max_characters_per_token).ids_in_graph(words)
        inputs = tf.reshape(tf.gather(ids, places), (*shape, ids.shape[-1]))
        return {**window, "inputs": inputs}

    signature = {
        "inputs": tf.TensorSpec(
            shape, tf.string if in_characters else tf.int32
        ),
        "targets": tf.TensorSpec(shape, tf.int32),
        "position": tf.TensorSpec((2, *starts[0].shape), tf.int64),
    }
    dataset = tf.data.Dataset.from_generator(
        windows, output_signature=signature
    )
    if in_characters:
        dataset = dataset.map(encode, tf.data.AUTOTUNE, deterministic=True)
    return dataset.prefetch(_PREFETCHED)


def _ids(vocabulary, words):
    return vocabulary.ids(words.ravel()).reshape(words.shape)


def _checked(streams):
    streams = tuple(streams)
    directions = tuple(stream.direction for stream in streams)
    shapes = {(stream.rows, stream.steps) for stream in streams}
    if directions != DIRECTIONS or len(shapes) != 1:
        raise ValueError(
            "`streams` must be a forward and a backward TokenStream of equal "
            f"rows and steps. Received: directions {directions}, (rows, steps) "
            f"{sorted(shapes)}"
        )
    return streams
