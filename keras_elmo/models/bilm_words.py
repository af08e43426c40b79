"""The words whose vectors are looked up, as passed to `ElmoLayer.from_bilm`."""

import os

from keras_elmo.files.fetch import fetch
from keras_elmo.formats.weight_files import read_arrays
from keras_elmo.text.spelling import UNKNOWN
from keras_elmo.text.vocabulary import vocabulary_words
from keras_elmo.text.vocabulary_spelling import WordTable


def read_words(vocabulary, files, token_embeddings):
    """The `WordTable` of the words whose vectors are looked up, or `None`."""
    if token_embeddings is not None:
        if vocabulary is None:
            raise ValueError(
                "`token_embeddings` does not contain the words: pass "
                "`vocabulary`, the file from which it was made. Received: "
                "vocabulary=None"
            )
        return WordTable(vocabulary_words(vocabulary))
    if not files.options.is_word_input:
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


def unknown_word(unknown_words, options, words):
    """The word that stands for others: `<UNK>`, or `None` for an error."""
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
    if unknown_words is None and options.is_word_input:
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
