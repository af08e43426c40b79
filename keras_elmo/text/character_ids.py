"""Words to the character ids that biLMs are trained on.

A word is its UTF-8 bytes between a begin-of-word and an end-of-word mark,
padded to a fixed width. Every id is one more than in the weight files, so that
0 is free to mark a padded token.
"""

from collections.abc import Iterable

import numpy as np

from keras_elmo.text.word_lists import checked_sentences
from keras_elmo.text.word_lists import find_words
from keras_elmo.text.word_lists import padded_batch

# Each is the id of the weight file's row, plus one.
BEGIN_SENTENCE = 257
END_SENTENCE = 258
BEGIN_WORD = 259
END_WORD = 260
PADDING = 261
NUM_IDS = 262

# As in both reference packages, these two words are the sentence boundaries.
_BOUNDARY_WORDS = {b"<S>": BEGIN_SENTENCE, b"</S>": END_SENTENCE}


def batch_to_ids(
    sentences: Iterable[Iterable[str | bytes]],
    max_characters_per_token: int = 50,
) -> np.ndarray:
    """Converts tokenised sentences to a padded batch of character ids.

    Words are cased and otherwise untouched: tokenise, but do not lowercase.
    A word longer than `max_characters_per_token - 2` bytes of UTF-8 is cropped
    (`find_cropped_words` tells which); code points that UTF-8 cannot encode
    are left out. The words `"<S>"` and `"</S>"` become the sentence boundaries.

    Args:
        sentences: List of sentences, each a list of words. A word is a string,
            or bytes that are taken as they are.
        max_characters_per_token: Integer, the number of ids a word. The model's
            own (`CharCNNEmbedding.max_characters_per_token`); 50 in every
            published model.

    Returns:
        int32 array of shape `(batch, time, max_characters_per_token)`, where
        `time` is the number of words of the longest sentence. Rows after a
        sentence's last word are all zero, which marks them as padding.

    Raises:
        ValueError: If a string stands where a list of words belongs, or a word
            is neither a string nor bytes.

    Example:

    >>> ids = batch_to_ids([["First", "sentence", "."], ["Another", "."]])
    >>> ids.shape
    (2, 3, 50)
    """
    width = checked_width(max_characters_per_token)
    return padded_batch(
        checked_sentences(sentences), lambda words: ids_of_words(words, width)
    )


def find_cropped_words(
    sentences: Iterable[Iterable[str | bytes]],
    max_characters_per_token: int = 50,
) -> list[tuple[int, int, str | bytes]]:
    """Lists the words that `batch_to_ids` would crop.

    Non-Latin scripts take two to four bytes a character, so a long word of
    theirs may lose its end.

    Args:
        sentences: As in `batch_to_ids`.
        max_characters_per_token: As in `batch_to_ids`.

    Returns:
        List of `(sentence index, word index, word)`, in text order.

    Example:

    >>> find_cropped_words([["short", "x" * 49]])
    [(0, 1, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx')]
    """
    width = checked_width(max_characters_per_token)
    return find_words(sentences, lambda word: is_cropped(word, width))


def is_cropped(word, width):
    """Whether a word, as bytes, is longer than `width` ids can tell."""
    return len(word) > width - 2 and word not in _BOUNDARY_WORDS


def ids_of_words(words, width):
    """Returns the ids of words, each bytes: int32 `(words, width)`."""
    ids = np.zeros((len(words), width), dtype="int32")
    for row, word in zip(ids, words):
        row[:] = word_ids(word, width)
    return ids


def word_ids(word, width):
    """Returns the ids of one word, given as bytes: int32 `(width,)`."""
    if word in _BOUNDARY_WORDS:
        return boundary_ids(width)[_BOUNDARY_WORDS[word] - BEGIN_SENTENCE]
    body = np.frombuffer(word[: width - 2], dtype="uint8")
    ids = np.full((width,), PADDING, dtype="int32")
    ids[0] = BEGIN_WORD
    ids[1 : len(body) + 1] = body.astype("int32") + 1
    ids[len(body) + 1] = END_WORD
    return ids


def boundary_ids(width):
    """Returns the ids of `<S>` and `</S>`: int32 `(2, width)`."""
    ids = np.full((2, width), PADDING, dtype="int32")
    ids[:, 0] = BEGIN_WORD
    ids[:, 1] = BEGIN_SENTENCE, END_SENTENCE
    ids[:, 2] = END_WORD
    return ids


def checked_width(width):
    if not isinstance(width, (int, np.integer)) or width < 3:
        raise ValueError(
            "`max_characters_per_token` must be an integer of at least 3 (two "
            f"word marks and a character). Received: {width!r}"
        )
    return int(width)
