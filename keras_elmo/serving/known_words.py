"""Words whose vectors are computed once, and kept. TensorFlow only."""

import os

import keras
import numpy as np
import tensorflow as tf

from keras_elmo.layers.character_cnn import CharacterCNN
from keras_elmo.ops.private_keras import sublayers
from keras_elmo.text.corpora import check_file
from keras_elmo.text.corpora import listed_lines
from keras_elmo.text.word_lists import sentence_words

# How many words are encoded at a time.
_BATCH = 1024


def know_words(layer, vocabulary):
    """Encodes a vocabulary with every character encoder in a layer.

    Args:
        layer: A built layer, in which there is a token encoder that reads
            characters.
        vocabulary: Path of a file of one word a line, plain or gzip; or an
            iterable of words, each a string or bytes.

    Returns:
        Pairs for `use_known_rows`.
    """
    encoders = [
        part
        for part in (layer, *sublayers(layer))
        if isinstance(part, CharacterCNN)
    ]
    if not encoders:
        raise ValueError(
            "With `vocabulary`, the model must hold a token encoder that reads "
            "characters, such as a `CharCNNEmbedding`. "
            f"Received: model '{layer.name}' without"
        )
    words = _listed_words(vocabulary)
    return [(encoder, _EncodedWords(encoder, words)) for encoder in encoders]


def _listed_words(vocabulary):
    if isinstance(vocabulary, (str, os.PathLike)):
        path = os.fspath(vocabulary)
        check_file(path)
        return list(listed_lines(path))
    return list(vocabulary)


class _EncodedWords:
    """The vectors of words, found by the words' character ids.

    A sorted list of hash values stands for a hash table: it is made of plain
    variables, which are stored once, and need no initialisation. A row of the
    same hash value that is another word is not taken for it.
    """

    def __init__(self, encoder, words):
        vectorization = encoder.make_vectorization()
        try:
            words = sentence_words(words, 0)
        except ValueError as error:
            raise ValueError(
                f"`vocabulary` must hold words. {error}"
            ) from error
        # Boundaries and padding are in every request.
        padding = np.zeros((1, *encoder.token_shape), "int32")
        rows = np.concatenate(
            [vectorization.ids_of_words(words), encoder.boundary_ids, padding]
        )
        # Cropped words may be the same.
        rows = np.unique(rows, axis=0)
        if vectorization.num_ids <= np.iinfo("int16").max:
            rows = rows.astype("int16")
        order = np.argsort(_hash_values(rows), kind="stable")
        rows = rows[order]
        self._hash_values = _variable(_hash_values(rows), "known_hash_values")
        self._rows = _variable(rows, "known_rows")
        self._vectors = _variable(_encode(encoder, rows), "known_vectors")

    def __call__(self, function):
        """Returns a function that calls `function` on unknown words alone."""

        def embed(rows):
            ids = tf.cast(rows, self._rows.dtype)
            place = tf.searchsorted(self._hash_values, _hash_values(ids))
            place = tf.minimum(place, self._rows.shape[0] - 1)  # (n,)
            is_known = tf.reduce_all(tf.gather(self._rows, place) == ids, 1)
            vectors = tf.gather(self._vectors, place)  # (n, dim)
            unknown = tf.where(tf.logical_not(is_known))  # (m, 1)

            def with_unknown():
                new = function(tf.gather_nd(rows, unknown))  # (m, dim)
                return tf.tensor_scatter_nd_update(vectors, unknown, new)

            return tf.cond(tf.size(unknown) > 0, with_unknown, lambda: vectors)

        return embed


def _hash_values(rows):
    return tf.bitcast(tf.fingerprint(rows), tf.int64)  # (n,)


def _variable(value, name):
    return tf.Variable(value, trainable=False, name=name)


def _encode(encoder, rows):
    """Runs the encoder on rows (n, width): (n, dim)."""
    # Words of like length, as the longest one decides on the work.
    changes = rows[:, 1:] != rows[:, :-1]
    order = np.argsort(changes.sum(axis=1), kind="stable")
    parts = [
        encoder(rows[order[start : start + _BATCH]].astype("int32"))
        for start in range(0, len(rows), _BATCH)
    ]
    vectors = keras.ops.concatenate(parts, axis=0)
    return tf.gather(vectors, np.argsort(order))
