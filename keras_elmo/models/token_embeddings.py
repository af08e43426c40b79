"""Writes the context-independent vectors of a vocabulary to a file."""

import keras
import numpy as np

from keras_elmo.formats.weight_files import write_arrays
from keras_elmo.models.built_layers import check_built
from keras_elmo.text.vocabulary import vocabulary_words
from keras_elmo.text.vocabulary_spelling import WordTable
from keras_elmo.text.word_vectorization import vectorization_of

# How many words are encoded at a time.
_BATCH = 1024


def dump_token_embeddings(elmo, vocabulary, path):
    """Writes a vocabulary's vectors; see `ElmoLayer.dump_token_embeddings`."""
    check_built(elmo)
    words = WordTable(vocabulary_words(vocabulary)).words
    spelling = vectorization_of(elmo.token_encoder).spelling
    # Sorted by length, as the longest word of a batch determines its cost.
    order = np.argsort([len(word) for word in words], kind="stable")
    rows = np.empty((len(words), elmo.encoder.output_dim), "float32")
    for start in range(0, len(words), _BATCH):
        part = order[start : start + _BATCH]
        ids = spelling.ids_of_words([words[i] for i in part])
        vectors = elmo.token_encoder(keras.ops.convert_to_tensor(ids))
        vectors = keras.ops.cast(vectors, "float32")
        rows[part] = keras.ops.convert_to_numpy(vectors)
    write_arrays(path, {"embedding": rows})
