"""The words that a tagger embeds, and vectors that were trained elsewhere."""

import collections

import numpy as np
from reading import fail


def frequent_words(sentences, min_count=2):
    """Words of the training sentences in lower case, the most frequent first.

    Rarer ones share the vector of unknown words, which is trained on them.

    Args:
        sentences: List of lists of words.
        min_count: Integer, how often a word must come.
    """
    counts = collections.Counter(
        word.lower() for words in sentences for word in words
    )
    return [word for word, n in counts.most_common() if n >= min_count]


def read_vectors(path, limit=None):
    """Reads word vectors as GloVe's are: a word and its numbers a line.

    Args:
        path: Path of the file, in UTF-8.
        limit: Integer, how many lines to read; `None` for all.

    Returns:
        The list of words, and a float32 array `(words, dim)`.

    Raises:
        ValueError: If a line is not as described; the message names it.
    """
    found = {}
    dim = None
    with open(path, encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if limit is not None and number > limit:
                break
            word, *numbers = line.rstrip().split(" ")
            try:
                vector = np.array(numbers, "float32")
            except ValueError:
                reason = "after the word there must be numbers, apart by spaces"
                fail(path, number, reason, line[:80])
            dim = dim or len(vector)
            if len(vector) != dim or not dim:
                fail(path, number, f"there must be {dim} numbers", line[:80])
            found.setdefault(word, vector)
    if not found:
        raise ValueError(f"'{path}' holds no word vectors.")
    return list(found), np.stack([*found.values()])


def with_vectors(words, known, vectors, seed=0):
    """Joins a vocabulary and the words of a file of vectors.

    Args:
        words: Strings, the vocabulary.
        known: Strings, words that have vectors.
        vectors: Array `(known, dim)`.
        seed: Integer, for the vectors of the other words.

    Returns:
        The list of all words, and an array `(all words, dim)`.
    """
    has_vector = set(known)
    others = [word for word in words if word not in has_vector]
    generator = np.random.default_rng(seed)
    random = generator.normal(0, vectors.std(), (len(others), vectors.shape[1]))
    table = np.concatenate([vectors, random.astype("float32")])
    return [*known, *others], table
