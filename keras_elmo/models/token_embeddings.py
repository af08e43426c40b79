"""The vectors of a vocabulary, before context, in a file."""

import os
from collections.abc import Iterable

import keras
import numpy as np

from keras_elmo.formats.bilm_arrays import write_arrays
from keras_elmo.text.vectorization_of import vectorization_of
from keras_elmo.text.vocabulary import vocabulary_words
from keras_elmo.text.word_table import WordTable

# How many words are encoded at a time.
_BATCH = 1024


def dump_token_embeddings(
    elmo: keras.layers.Layer,
    vocabulary: str | os.PathLike | Iterable[str | bytes],
    path: str | os.PathLike,
) -> None:
    """Writes the vectors of a vocabulary's words, before context.

    The file is as bilm-tf's function of this name writes it, for bilm-tf and
    for `ElmoLayer.from_bilm(..., token_embeddings=path,
    vocabulary=vocabulary)`: HDF5 with an array `embedding` of shape `(words,
    projection_dim)` in float32, a row for each word in its order. It is written
    whole or not at all.

    Args:
        elmo: A built `ElmoLayer` that reads words.
        vocabulary: Path of a file of one word a line, plain or gzip, or an
            iterable of words. `<S>` and `</S>` should be among them.
        path: Path of the file to write.

    Raises:
        ValueError: If the layer is not built or reads no words, or
            `vocabulary` holds none.

    Example:

    >>> elmo = ElmoLayer.from_bilm("options.json", "weights.hdf5")
    >>> words = ["<S>", "</S>", "<UNK>", "the", "cat"]
    >>> dump_token_embeddings(elmo, words, "token_embeddings.hdf5")
    >>> fast = ElmoLayer.from_bilm(
    ...     "options.json",
    ...     "weights.hdf5",
    ...     token_embeddings="token_embeddings.hdf5",
    ...     vocabulary=words,
    ... )
    >>> ElmoEmbedder(fast).embed_sentence(["the", "dog"]).shape
    (3, 2, 12)
    """
    if not getattr(elmo, "built", False):
        raise ValueError(
            "`elmo` must be a built `ElmoLayer`: call or build it first. "
            f"Received: {elmo!r}"
        )
    words = WordTable(vocabulary_words(vocabulary)).words
    spelling = vectorization_of(elmo.token_encoder).spelling
    # Words of like length, as the longest one decides on the work.
    order = np.argsort([len(word) for word in words], kind="stable")
    rows = np.empty((len(words), elmo.encoder.output_dim), "float32")
    for start in range(0, len(words), _BATCH):
        part = order[start : start + _BATCH]
        ids = spelling.ids_of_words([words[i] for i in part])
        vectors = elmo.token_encoder(keras.ops.convert_to_tensor(ids))
        vectors = keras.ops.cast(vectors, "float32")
        rows[part] = keras.ops.convert_to_numpy(vectors)
    write_arrays(path, {"embedding": rows})
