"""Vocabularies whose words' vectors are looked up."""

import os

import keras
import numpy as np

from keras_elmo.files.fetch import fetch
from keras_elmo.formats.weight_files import read_arrays
from keras_elmo.formats.weight_files import write_arrays
from keras_elmo.models.variables import check_built
from keras_elmo.text.spelling import UNKNOWN
from keras_elmo.text.vocabulary import vocabulary_words
from keras_elmo.text.vocabulary_spelling import WordTable
from keras_elmo.text.word_vectorization import vectorization_of

# How many words are encoded at a time.
_BATCH = 1024


def read_words(files, token_embeddings, vocabulary, unknown_words):
    """Returns the words whose vectors are looked up, and what is for others.

    Args:
        files: The `BilmFiles`.
        token_embeddings: As for `ElmoLayer.from_bilm`.
        vocabulary: As for `ElmoLayer.from_bilm`.
        unknown_words: As for `ElmoLayer.from_bilm`.

    Returns:
        A `WordTable` or `None`; and `<UNK>`, or `None` for an error.
    """
    is_word_input = files.options.is_word_input
    words = _word_table(files, token_embeddings, vocabulary, is_word_input)
    return words, _unknown_word(unknown_words, words, is_word_input)


def _word_table(files, token_embeddings, vocabulary, is_word_input):
    if token_embeddings is not None:
        if vocabulary is None:
            raise ValueError(
                "`token_embeddings` does not contain the words: pass "
                "`vocabulary`, the file from which it was made. Received: "
                "vocabulary=None"
            )
        return WordTable(vocabulary_words(vocabulary))
    if not is_word_input:
        if vocabulary is not None:
            raise ValueError(
                "`vocabulary` can only be used with `token_embeddings` or with "
                "a model with word input: this model reads the characters of "
                f"any word. Received: vocabulary={_shown(vocabulary)}"
            )
        return None
    if vocabulary is None:
        vocabulary = files.read_vocabulary()
        if vocabulary is None:
            return None
    words = WordTable(vocabulary_words(vocabulary))
    number = files.options.token_encoder["num_tokens"]
    if len(words) != number:
        raise ValueError(
            "The vocabulary must have as many words as the model, "
            f"n_tokens_vocab={number:,}. Received: {len(words):,} words"
        )
    return words


def _unknown_word(unknown_words, words, is_word_input):
    if unknown_words not in (None, "unk", "error"):
        raise ValueError(
            "`unknown_words` must be 'unk', 'error' or None. "
            f"Received: unknown_words={unknown_words!r}"
        )
    if words is None and unknown_words is not None:
        raise ValueError(
            "`unknown_words` can only be used with `vocabulary`. "
            f"Received: unknown_words={unknown_words!r}, vocabulary=None"
        )
    if unknown_words is None and is_word_input:
        # In training, <UNK> stood for rare words.
        is_word = words is not None and words.get(UNKNOWN) is not None
        return UNKNOWN if is_word else None
    return UNKNOWN if unknown_words == "unk" else None


def read_rows(path, options, number):
    """The array `(words, projection_dim)` of a dumped vocabulary."""
    path = fetch(path, "token_embeddings")
    dim = options.encoder["projection_dim"]
    rows = read_arrays(path, {"embedding": (None, dim)})["embedding"]
    if len(rows) != number:
        raise ValueError(
            f"'{path}' must have a row for each word of `vocabulary`, "
            f"{number:,}. Received: {len(rows):,} rows"
        )
    return rows


def _shown(vocabulary):
    is_path = isinstance(vocabulary, (str, os.PathLike))
    return repr(vocabulary) if is_path else "words"


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
