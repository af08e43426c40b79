"""Checks of sentences as lists of words, and padded batches of their ids."""

import itertools

import numpy as np


def padded_batch(sentences, ids_of_words):
    """Returns the ids of sentences' words, with zeros at padding.

    Args:
        sentences: Iterable of sentences, each an iterable of words, which are
            strings or bytes. Code points that UTF-8 cannot encode are left out.
        ids_of_words: From a list of `n` words, as bytes, to their ids, an
            integer array `(n, *token_shape)`.

    Returns:
        Array `(batch, time, *token_shape)`.

    Raises:
        ValueError: If a sentence is a string instead of a list of words, or a
            word is neither a string nor bytes.
    """
    lists = [_word_bytes(s, i) for i, s in enumerate(word_lists(sentences))]
    # Most words of a text are repeated: encode each distinct word once.
    distinct = dict.fromkeys(itertools.chain.from_iterable(lists))
    rows = dict(zip(distinct, itertools.count(1)))
    ids = ids_of_words(list(distinct))
    table = np.concatenate([np.zeros_like(ids, shape=(1, *ids.shape[1:])), ids])
    time = max((len(words) for words in lists), default=0)
    index = np.zeros((len(lists), time), dtype="int64")
    for i, words in enumerate(lists):
        index[i, : len(words)] = list(map(rows.get, words))
    return table[index]  # (batch, time, *token_shape)


def sentence_words(sentence, i):
    """Returns the words of sentence number `i` as bytes, checked."""
    return _word_bytes(_listed(sentence), i)


def word_lists(sentences):
    """Returns the sentences as lists of their unchanged words."""
    listed = _listed(sentences)
    if not isinstance(listed, list):
        raise ValueError(
            "`sentences` must be a list of sentences, each a list of words, "
            f'such as [["A", "sentence", "."]]. Received: {sentences!r}'
        )
    return [_listed(sentence) for sentence in listed]


def find_words(sentences, is_wanted):
    """Lists the words that satisfy a condition.

    Args:
        sentences: As for `padded_batch`.
        is_wanted: From a word's bytes to a boolean.

    Returns:
        List of `(sentence index, word index, word)` in text order, with the
        words as given.
    """
    lists = word_lists(sentences)
    return [
        (i, j, lists[i][j])
        for i, sentence in enumerate(lists)
        for j, word in enumerate(_word_bytes(sentence, i))
        if is_wanted(word)
    ]


def _listed(items):
    """Returns a list, or `items` if it is a string or not iterable."""
    if isinstance(items, (str, bytes)):
        return items
    try:
        return list(items)
    except TypeError:
        return items


def _word_bytes(sentence, i):
    if not isinstance(sentence, list):
        raise ValueError(
            "Each sentence must be a list of words. For text as people write "
            "it, `keras_elmo.text.tokenize(text)` returns such sentences. If "
            "spaces separate all tokens, use `sentence.split()`. "
            f"Received as sentence {i}: {sentence!r}"
        )
    words = []
    for j, word in enumerate(sentence):
        if isinstance(word, str):
            word = word.encode("utf-8", "ignore")
        elif not isinstance(word, bytes):
            raise ValueError(
                f"Each word must be a string or bytes. Received as word {j} of "
                f"sentence {i}: {word!r} (of type {type(word).__name__})"
            )
        words.append(bytes(word))
    return words
