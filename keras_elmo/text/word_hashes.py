"""A hash table of words, as arrays, in which layers find words by their ids."""

from typing import NamedTuple

import numpy as np

# The highest sum, and how many hash functions are tried: nearly always, the
# first one is right.
_MOST, _TRIES = 2**31 - 1, 100


class WordHashes(NamedTuple):
    """Rows of words, sorted by bucket.

    A word has two sums: of its ids, each times a factor of its position. The
    first one, divided by the number of buckets, leaves the number of its
    bucket. The second one tells it from the other words of the bucket.
    """

    factors: np.ndarray
    """int32 `(2, chars)`, positive, and so small that all sums are int32."""
    starts: np.ndarray
    """int32 `(num_buckets,)`, the first row of each bucket. The largest one has
    `bucket_size` rows."""
    sums: np.ndarray
    """int32 `(rows + bucket_size,)`, the second sums, and then -1. Of
    `bucket_size` successive ones, no two are equal."""
    characters: np.ndarray
    """uint8 `(rows, chars - 2)`, as of `characters_of`."""
    numbers: np.ndarray
    """int32 `(rows,)`, the position of each word in the list."""


def hash_words(words, indexer):
    """Makes the hash table of a list of words.

    Words with other letters than ASCII's are listed in upper case and
    capitalised, too, if the lower case of that form is the word: *STRASSE* is
    no form of *straße*.

    Args:
        words: List of words, each bytes. Of words that are equal, also because
            both are cropped, the first one counts.
        indexer: `ByteIndexer`.

    Returns:
        `WordHashes`, and its `bucket_size`.
    """
    numbers, forms = [*range(len(words))], []
    for i, word in enumerate(words):
        text = "" if word.isascii() else word.decode("utf-8", "ignore")
        for form in (text.capitalize(), text.upper()):
            if form.lower().encode() == word:
                forms.append(form.encode())
                numbers.append(i)
    ids = indexer.ids_of_words([*words, *forms])  # (n, chars)
    ids, first = np.unique(ids, axis=0, return_index=True)
    num_buckets, most = 2 * len(ids), _MOST // (indexer.num_ids * ids.shape[1])
    for seed in range(_TRIES):
        generator = np.random.default_rng(seed)
        factors = generator.integers(1, most + 1, (2, ids.shape[1]), "int32")
        first_sums, sums = factors @ ids.T
        buckets = first_sums % num_buckets
        order = np.argsort(buckets)
        buckets, sums = buckets[order], sums[order]
        size = int(np.bincount(buckets).max())
        if all((sums[i:] != sums[:-i]).all() for i in range(1, size)):
            break
    else:
        raise ValueError("No hash function was found for these words.")
    starts = np.searchsorted(buckets, np.arange(num_buckets)).astype("int32")
    sums = np.pad(sums, (0, size), constant_values=-1)
    characters = characters_of(ids[order]).astype("uint8")
    numbers = np.array(numbers, "int32")[first[order]]
    return WordHashes(factors, starts, sums, characters, numbers), size


def characters_of(ids):
    """Returns ids `(..., chars)` as bytes: int32 `(..., chars - 2)`.

    The ids 257 to 261, of padding and of marks such as a word's end, become 0
    to 4, as if they were bytes. A byte's own id is lower, and of two words that
    are equal here, only the longer one has bytes where the other has none. So
    its sums are lower, as all factors are positive.
    """
    return (ids[..., 1:-1] - 1) % 256
