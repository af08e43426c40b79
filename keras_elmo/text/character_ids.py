"""Words to the character ids that biLMs are trained on.

A word is its UTF-8 bytes between a begin-of-word and an end-of-word mark,
padded to a fixed width. Every id is one more than in the weight files, so that
0 is free to mark a padded token.
"""

from collections.abc import Iterable

import numpy as np

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
    encoded = [_word_bytes(s, i) for i, s in enumerate(_as_list(sentences))]
    # Most words of a text repeat: each distinct one is encoded once.
    rows: dict[bytes, int] = {}
    for words in encoded:
        for word in words:
            rows.setdefault(word, len(rows) + 1)
    table = np.zeros((len(rows) + 1, width), dtype="int32")
    for word, row in rows.items():
        table[row] = word_ids(word, width)
    time = max((len(words) for words in encoded), default=0)
    index = np.zeros((len(encoded), time), dtype="int64")
    for i, words in enumerate(encoded):
        index[i, : len(words)] = [rows[word] for word in words]
    return table[index]  # (batch, time, width)


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
    room = checked_width(max_characters_per_token) - 2
    lists = _as_list(sentences)
    return [
        (i, j, lists[i][j])
        for i, sentence in enumerate(lists)
        for j, word in enumerate(_word_bytes(sentence, i))
        if len(word) > room and word not in _BOUNDARY_WORDS
    ]


def sentence_words(sentence, i):
    """Returns the words of sentence number `i` as bytes, checked."""
    return _word_bytes(_listed(sentence), i)


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


def _as_list(sentences):
    listed = _listed(sentences)
    if not isinstance(listed, list):
        raise ValueError(
            "`sentences` must be a list of sentences, each a list of words, "
            'such as [["A", "sentence", "."]]. '
            f"Received: {sentences!r}"
        )
    return [_listed(sentence) for sentence in listed]


def _listed(items):
    """Returns a list; or, if `items` are none or a string, `items`."""
    if isinstance(items, (str, bytes)):
        return items
    try:
        return list(items)
    except TypeError:
        return items


def _word_bytes(sentence, i):
    if not isinstance(sentence, list):
        raise ValueError(
            "Each sentence must be a list of words; split it first, with "
            "`sentence.split()` for instance. "
            f"Received as sentence {i}: {sentence!r}"
        )
    words = []
    for j, word in enumerate(sentence):
        if isinstance(word, str):
            word = word.encode("utf-8", "ignore")
        elif not isinstance(word, bytes):
            raise ValueError(
                "Each word must be a string or bytes. "
                f"Received as word {j} of sentence {i}: {word!r} "
                f"(of type {type(word).__name__})"
            )
        words.append(bytes(word))
    return words
