"""Vocabularies: the words that a language model predicts."""

import codecs
import collections
import itertools
import os
import warnings
from collections.abc import Iterable
from collections.abc import Mapping

import numpy as np

from keras_elmo.files.atomic import write_atomically
from keras_elmo.files.untrusted_files import bounded_lines
from keras_elmo.text.text_files import check_file
from keras_elmo.text.text_files import open_unpacked
from keras_elmo.text.text_kinds import refuse_binary
from keras_elmo.text.token_indexer import BEGIN_SENTENCE
from keras_elmo.text.token_indexer import END_SENTENCE
from keras_elmo.text.token_indexer import UNKNOWN_WORD

_SPECIAL = (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN_WORD)

# A line that bilm-tf skips.
_SKIPPED = b"!!!MAXTERMID"


class Vocabulary:
    """The words that a language model predicts, each with an id.

    Words are bytes (UTF-8, but this is not checked). A word's id is its
    position in the list. A vocabulary is immutable.

    Args:
        words: Iterable of distinct words, each bytes, including `<S>`, `</S>`
            and `<UNK>`. For sampled softmax, they must be in descending order
            of their counts.

    Raises:
        ValueError: If a word is empty, not bytes, a duplicate, or has white
            space of ASCII, which no word of a text has; or if `<S>`, `</S>` or
            `<UNK>` is missing.

    Example:

    >>> vocabulary = Vocabulary([b"<S>", b"</S>", b"<UNK>", b"the", b"cat"])
    >>> vocabulary.ids([b"the", b"dog", b"</S>"])
    array([3, 2, 1], dtype=int32)
    """

    def __init__(self, words: Iterable[bytes]):
        self._ids = _numbered(words)

    @classmethod
    def from_file(
        cls, path: str | os.PathLike, content: bytes | None = None
    ) -> "Vocabulary":
        """Reads a file with one word per line, plain or gzip.

        Args:
            path: Path of the file. As in bilm-tf, a line `!!!MAXTERMID` is
                skipped.
            content: The bytes of the file, if they have been read already.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: As for the constructor.
        """
        try:
            return cls(vocabulary_words(path, content))
        except ValueError as error:
            raise ValueError(
                f"'{path}' is not a vocabulary. {error}"
            ) from error

    @classmethod
    def from_counts(
        cls, counts: Mapping[bytes, int], min_count: int = 1
    ) -> "Vocabulary":
        """Creates the vocabulary of a corpus.

        `<S>`, `</S>` and `<UNK>` come first, then the words by descending
        count. Words with equal counts are in byte order.

        Args:
            counts: Mapping from words to counts.
            min_count: Integer, the minimum count of a word.
        """
        taken = [
            (-count, word)
            for word, count in counts.items()
            if count >= min_count and word not in (*_SPECIAL, _SKIPPED)
        ]
        words = (word for _, word in sorted(taken))
        return cls((*_SPECIAL, *words))

    def write(self, path: str | os.PathLike) -> None:
        """Writes the words to a file atomically, one per line."""

        def write(temporary):
            with open(temporary, "wb") as file:
                file.writelines(word + b"\n" for word in self._ids)

        write_atomically(path, write)

    def __len__(self):
        return len(self._ids)

    def __eq__(self, other):
        return isinstance(other, Vocabulary) and self.words == other.words

    @property
    def words(self) -> list[bytes]:
        """A new list of the words, in the order of their ids."""
        return list(self._ids)

    @property
    def unknown_id(self) -> int:
        """The id of `<UNK>`, and of every word not in the vocabulary."""
        return self._ids[UNKNOWN_WORD]

    def ids(self, words: Iterable[bytes]) -> np.ndarray:
        """Looks up the ids of words.

        Args:
            words: Iterable of words, each bytes.

        Returns:
            int32 array of shape `(words,)`.
        """
        words = list(words)
        if not set(map(type, words)) <= {bytes}:
            odd = next(word for word in words if type(word) is not bytes)
            raise ValueError(f"Each word must be bytes. Received: {odd!r}")
        found = map(self._ids.get, words, itertools.repeat(self.unknown_id))
        return np.fromiter(found, "int32", len(words))


def covered_share(words, known, text="the text"):
    """Returns the share of a text's words that are in a vocabulary.

    It warns if the share is small, because all other words are `<UNK>`, which
    is easy to predict.

    Args:
        words: Iterable of the text's words, as bytes; or a mapping from words
            to their counts.
        known: Iterable of the vocabulary's words, as bytes. `<S>`, `</S>` and
            `<UNK>` do not count.
        text: String, what messages call the text.

    Raises:
        ValueError: If none of the text's words is in the vocabulary.
    """
    counts = collections.Counter(words)
    found = counts.keys() & set(known).difference(_SPECIAL)
    share = sum(map(counts.get, found)) / max(1, counts.total())
    message = (
        f"The vocabulary has {share:.1%} of {text}'s words. The perplexity "
        "says little, because all other words count as <UNK>, which is easy to "
        "predict. So compare it only with that of models with this vocabulary. "
        "Check that the text is tokenised like the text of the vocabulary, "
        "with the same case: 'bank.' and 'Bank' are other words than 'bank'. "
        "A vocabulary that you make from a text of your own covers more words "
        "with a lower minimum count, or with more text of this kind."
    )
    if not found:
        raise ValueError(message)
    if share < 0.9:
        warnings.warn(message, stacklevel=2)
    return share


def vocabulary_words(path, content=None):
    """Returns the words of a vocabulary, without checking them.

    Args:
        path: Path of the file, with one word per line, plain or gzip. As in
            bilm-tf, a line `!!!MAXTERMID` is skipped.
        content: The bytes of the file, if they have been read already; the path
            is then its name in messages.

    Returns:
        A list of words, each bytes.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it unpacks to far more than any vocabulary.
    """
    path, size = os.fspath(path), 0
    if content is None:  # Else, it may have been unpacked before, from a zip.
        check_file(path, "vocabulary")
        size = os.path.getsize(path)
    with open_unpacked(path, content) as file:
        refuse_binary(file.peek(4)[:4], path)
        lines = list(bounded_lines(file, size))
    if lines:
        lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
    # There may be only a byte order mark.
    words = (x.removesuffix(b"\n").removesuffix(b"\r") for x in lines if x)
    return [word for word in words if word != _SKIPPED]


def _numbered(words):
    """Returns a dictionary from words to ids."""
    ids: dict[bytes, int] = {}
    for number, word in enumerate(words, start=1):
        if not isinstance(word, bytes):
            reason = "each word must be bytes"
        elif word.split() != [word]:
            reason = "no word may be empty or have white space (or a count)"
        elif word == _SKIPPED:
            reason = "a word must be valid as a line of a vocabulary file"
        elif word in ids:
            reason = "the words must be distinct"
        else:
            ids[word] = len(ids)
            continue
        raise ValueError(
            f"In a vocabulary, {reason}. Received as word {number}: {word!r}"
        )
    missing = [word.decode() for word in _SPECIAL if word not in ids]
    if missing:
        raise ValueError(
            "A vocabulary must contain <S>, </S> and <UNK>. Missing from the "
            f"{len(ids)} words: {', '.join(missing)}"
        )
    return ids
