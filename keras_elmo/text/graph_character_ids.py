"""Words to character ids inside a TensorFlow graph. TensorFlow only."""

import tensorflow as tf

from keras_elmo.text.character_ids import BEGIN_WORD
from keras_elmo.text.character_ids import END_WORD
from keras_elmo.text.character_ids import PADDING
from keras_elmo.text.character_ids import boundary_ids
from keras_elmo.text.character_ids import checked_width


def character_ids_in_graph(
    words: tf.Tensor, max_characters_per_token: int = 50
) -> tf.Tensor:
    """Converts words to character ids, as `batch_to_ids` does.

    Of TensorFlow's core operations alone, so that it may be part of a
    `tf.data` pipeline or of a SavedModel.

    Args:
        words: String tensor `(n,)`. An empty string is an empty word.
        max_characters_per_token: Integer, the number of ids a word.

    Returns:
        int32 tensor `(n, max_characters_per_token)`.
    """
    width = checked_width(max_characters_per_token)
    room = width - 2
    words = tf.convert_to_tensor(words, tf.string)
    lengths = tf.strings.length(words, unit="BYTE")
    # One more than the place of a word's last byte.
    ends = tf.minimum(lengths, room)[:, None] + 1  # (n, 1)
    # Its padding looks like NUL bytes: the lengths tell them apart.
    body = tf.io.decode_raw(words, tf.uint8, fixed_length=room)  # (n, room)
    body = tf.pad(tf.cast(body, tf.int32) + 1, [[0, 0], [1, 1]])  # (n, width)
    places = tf.range(width)[None, :]  # (1, width)
    ids = tf.where(places < ends, body, PADDING)
    ids = tf.where(places == ends, END_WORD, ids)
    ids = tf.where(places == 0, BEGIN_WORD, ids)
    for word, row in zip((b"<S>", b"</S>"), boundary_ids(width)):
        ids = tf.where((words == word)[:, None], row, ids)
    return tf.ensure_shape(ids, (None, width))
