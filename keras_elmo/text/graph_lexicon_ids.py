"""Words to the ids of a lexicon inside a TensorFlow graph. TensorFlow only.

Sorted constants stand for tables, which a SavedModel would have to initialise.
"""

import numpy as np
import tensorflow as tf

from keras_elmo.text import lexicon as names

# As many values as a hash can have that is an int64.
_NUM_HASH_VALUES = 2**63 - 1


def lexicon_ids_in_graph(words, lexicon):
    """Converts words to ids, as `Lexicon.ids_of_words` does.

    Args:
        words: String tensor `(n,)`.
        lexicon: A `Lexicon`.

    Returns:
        int32 tensor `(n, *token_shape)`.
    """
    words = tf.convert_to_tensor(words, tf.string)
    room = lexicon.width - 2
    points = tf.strings.unicode_decode(words, "UTF-8", errors="replace")
    points = points[:, :room]
    ids = _look_up_points(points.flat_values, lexicon)
    ids = points.with_flat_values(ids).to_tensor(shape=(None, room))
    lengths = tf.cast(points.row_lengths(), tf.int32)
    read = tf.strings.unicode_encode(points, "UTF-8")  # (n,)
    for name in (names.BEGIN_SENTENCE, names.END_SENTENCE):
        is_mark = words == name
        mark = tf.one_hot(0, room, lexicon.special_id(name), 0, dtype=tf.int32)
        ids = tf.where(is_mark[:, None], mark, ids)
        lengths = tf.where(is_mark, 1, lengths)
        read = tf.where(is_mark, name, read)
    ids = tf.pad(ids, [[0, 0], [1, 1]])  # (n, width)
    places = tf.range(lexicon.width)
    ends = lengths[:, None] + 1  # (n, 1)
    ids = tf.where(places > ends, lexicon.special_id(names.PADDING), ids)
    ids = tf.where(places == ends, lexicon.special_id(names.END_WORD), ids)
    ids = tf.where(places == 0, lexicon.special_id(names.BEGIN_WORD), ids)
    if lexicon.word_ids is not None:
        word_ids = _look_up_words(read, lexicon.word_ids)
        ids = tf.concat([ids, word_ids[:, None]], axis=1)
    return tf.ensure_shape(ids, (None, *lexicon.token_shape))


def _look_up_points(points, lexicon):
    """Ids of code points, int32 `(m,)`."""
    known = sorted(
        (ord(c), i) for c, i in lexicon.character_ids.items() if len(c) == 1
    )
    # One that is no code point, so that none are not a special case.
    keys, ids = np.array([*known, (0x110000, 0)], "int32").T
    place = tf.searchsorted(keys, points)
    is_known = tf.gather(keys, place) == points
    unknown = lexicon.special_id(names.UNKNOWN)
    return tf.where(is_known, tf.gather(ids, place), unknown)


def _look_up_words(words, word_ids):
    """Ids of words, int32 `(n,)`."""
    known = np.array([word.encode() for word in word_ids], object)
    ids = np.array(list(word_ids.values()), "int32")
    with tf.init_scope():  # Now, not in the graph.
        values = _hash_values(known).numpy()
    order = np.argsort(values)
    values, known, ids = values[order], known[order], ids[order]
    if np.any(values[1:] == values[:-1]):
        raise ValueError("Two words of the lexicon have one hash value.")
    place = tf.searchsorted(values, _hash_values(words))
    place = tf.minimum(place, len(values) - 1)
    # A word of the same hash value may be another one.
    is_known = tf.gather(tf.constant(known), place) == words
    return tf.where(is_known, tf.gather(ids, place), word_ids[names.UNKNOWN])


def _hash_values(words):
    return tf.strings.to_hash_bucket_fast(words, _NUM_HASH_VALUES)
