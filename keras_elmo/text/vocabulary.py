"""Vocabularies: the words that a language model predicts."""

import codecs
import itertools
import os
from collections.abc import Iterable
from collections.abc import Mapping

import numpy as np

from keras_elmo.files.atomic import write_atomically
from keras_elmo.text.corpora import check_file
from keras_elmo.text.corpora import listed_lines
from keras_elmo.text.special_words import BEGIN_SENTENCE
from keras_elmo.text.special_words import END_SENTENCE
from keras_elmo.text.special_words import UNKNOWN

_SPECIAL = (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN)

# A line that bilm-tf takes for no word.
_SKIPPED = b"!!!MAXTERMID"


class Vocabulary:
    """The words that a language model predicts, each of which has an id.

    Words are bytes (UTF-8, though that is not looked at). A word's id is its
    place in the list. A vocabulary does not change.

    Args:
        words: Iterable of distinct words, each bytes, with `<S>`, `</S>` and
            `<UNK>` among them. For sampled softmax they must stand in falling
            order of their counts.

    Raises:
        ValueError: If a word is empty, not bytes, there twice or none that a
            line of a file can hold; or one of the three is missing.

    Example:

    >>> vocabulary = Vocabulary([b"<S>", b"</S>", b"<UNK>", b"the", b"cat"])
    >>> vocabulary.ids([b"the", b"dog", b"</S>"])
    array([3, 2, 1], dtype=int32)
    """

    def __init__(self, words: Iterable[bytes]):
        self._ids = _numbered(
            (f"word {i}", word) for i, word in enumerate(words)
        )

    @classmethod
    def from_file(cls, path: str | os.PathLike) -> "Vocabulary":
        """Reads a file of one word a line, plain or gzip.

        Args:
            path: Path of the file. As in bilm-tf, a line `!!!MAXTERMID` is
                skipped.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: As from the constructor, naming the line.
        """
        path = os.fspath(path)
        check_file(path)
        lines = enumerate(listed_lines(path), start=1)
        vocabulary = cls.__new__(cls)
        try:
            vocabulary._ids = _numbered(
                (f"line {i}", line) for i, line in lines if line != _SKIPPED
            )
        except ValueError as error:
            raise ValueError(
                f"'{path}' is not a vocabulary. {error}"
            ) from error
        return vocabulary

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[bytes, int],
        min_count: int = 1,
        max_size: int | None = None,
    ) -> "Vocabulary":
        """Makes the vocabulary of a corpus.

        First come `<S>`, `</S>` and `<UNK>`, then the words by falling count,
        those of equal count in the order of their bytes.

        Args:
            counts: Mapping from words to counts, as `count_words` returns it.
            min_count: Integer, the least count of a word that is taken.
            max_size: Integer, the most words, the first three included. All by
                default.
        """
        if max_size is not None and max_size < len(_SPECIAL):
            raise ValueError(
                f"`max_size` must be at least {len(_SPECIAL)}, for <S>, </S> "
                f"and <UNK>, or None. Received: {max_size!r}"
            )
        taken = [
            (-count, word)
            for word, count in counts.items()
            if count >= min_count and word not in _SPECIAL and _has_line(word)
        ]
        words = (word for _, word in sorted(taken))
        return cls(itertools.islice((*_SPECIAL, *words), max_size))

    def write(self, path: str | os.PathLike) -> None:
        """Writes the words to a file, one a line, whole or not at all."""

        def write(temporary):
            with open(temporary, "wb") as file:
                file.writelines(word + b"\n" for word in self._ids)

        write_atomically(path, write)

    def __len__(self):
        return len(self._ids)

    def __eq__(self, other):
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.words == other.words

    def __hash__(self):
        return hash(tuple(self._ids))

    @property
    def words(self) -> list[bytes]:
        """A new list of the words, in the order of their ids."""
        return list(self._ids)

    @property
    def begin_id(self) -> int:
        """The id of `<S>`."""
        return self._ids[BEGIN_SENTENCE]

    @property
    def end_id(self) -> int:
        """The id of `</S>`."""
        return self._ids[END_SENTENCE]

    @property
    def unknown_id(self) -> int:
        """The id of `<UNK>`, and of every word that is not there."""
        return self._ids[UNKNOWN]

    def ids(self, words: Iterable[bytes]) -> np.ndarray:
        """Looks words up.

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


def vocabulary_words(vocabulary):
    """Returns the words of a vocabulary, of any words at all.

    Args:
        vocabulary: Path of a file of one word a line, plain or gzip; the bytes
            of one; or an iterable of words. As in bilm-tf, a line
            `!!!MAXTERMID` is skipped.

    Returns:
        A list of words; those of a file are bytes.

    Raises:
        FileNotFoundError: If there is no such file.
    """
    if isinstance(vocabulary, bytes):
        lines = vocabulary.removeprefix(codecs.BOM_UTF8).split(b"\n")
        lines = [line.removesuffix(b"\r") for line in lines]
        lines = lines if lines[-1] else lines[:-1]
    elif isinstance(vocabulary, (str, os.PathLike)):
        path = os.fspath(vocabulary)
        check_file(path)
        lines = listed_lines(path)
    else:
        return list(vocabulary)
    return [line for line in lines if line != _SKIPPED]


def _numbered(words):
    """Returns a dictionary from words to ids, of `(its place, word)` pairs."""
    ids: dict[bytes, int] = {}
    for place, word in words:
        if not isinstance(word, bytes):
            raise ValueError(
                f"Each word must be bytes. Received as {place}: {word!r}"
            )
        if not word.strip(b" "):
            raise ValueError(f"No word may be empty. Received as {place}: b''")
        if not _has_line(word):
            raise ValueError(
                "A word must be something that a line of a vocabulary's file "
                f"can hold. Received as {place}: {word!r}"
            )
        if word in ids:
            raise ValueError(
                "Each word must be there once. "
                f"Received a second time, as {place}: {word!r}"
            )
        ids[word] = len(ids)
    missing = [word.decode() for word in _SPECIAL if word not in ids]
    if missing:
        raise ValueError(
            "A vocabulary must hold <S>, </S> and <UNK>. "
            f"Missing, of {len(ids)} words: {', '.join(missing)}"
        )
    return ids


def _has_line(word):
    """Whether a line of a vocabulary's file can hold the word."""
    return not (word == _SKIPPED or word.endswith(b"\r") or b"\n" in word)
