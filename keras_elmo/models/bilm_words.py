"""The words whose vectors are looked up, as passed to `ElmoLayer.from_bilm`."""

import os

from keras_elmo.files.fetch import fetch
from keras_elmo.formats.weight_files import read_arrays
from keras_elmo.text.special_words import UNKNOWN
from keras_elmo.text.vocabulary import vocabulary_words
from keras_elmo.text.word_table import WordTable

_UNKNOWN_WORDS = ("characters", "unk", "error")


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


def checked_unknown_words(value, options, words):
    """How to treat words without a vector: one of `_UNKNOWN_WORDS`."""
    has_unknown = words is not None and words.get(UNKNOWN) is not None
    if value is None:
        if not options.is_word_input:
            return "characters"
        # In training, <UNK> stood for rare words.
        return "unk" if has_unknown else "error"
    if value not in _UNKNOWN_WORDS:
        raise ValueError(
            f"`unknown_words` must be one of {list(_UNKNOWN_WORDS)} or None. "
            f"Received: unknown_words={value!r}"
        )
    if words is None:
        raise ValueError(
            "`unknown_words` can only be used with `vocabulary`. "
            f"Received: unknown_words={value!r}, vocabulary=None"
        )
    if value == "characters" and options.is_word_input:
        raise ValueError(
            'With `unknown_words="characters"` the model must have a '
            "character encoder. Received: options without 'char_cnn'"
        )
    if value == "unk" and not has_unknown:
        raise ValueError(
            'With `unknown_words="unk"` the vocabulary must hold <UNK>. '
            f"Received: {len(words):,} words without it"
        )
    return value


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
