"""A text as the numbers of its words, in a file that is mapped into memory."""

import array
import hashlib
import mmap
import os
from typing import NamedTuple

import numpy as np

from keras_elmo.pretraining.corpus_shards import check_sentences
from keras_elmo.text.corpora import text_lines
from keras_elmo.text.token_indexer import BEGIN_SENTENCE
from keras_elmo.text.token_indexer import END_SENTENCE

# Every so many sentences begin a run, the unit in which a file is read.
_RUN = 64
_WRITTEN_TOKENS = 2**20


class WordNumbers(dict):
    """Numbers words as they occur, from 2.

    0 and 1 are the marks at the begin and at the end of a sentence, so a word
    of the text that looks like a mark has a number of its own.
    """

    def __missing__(self, word):
        number = self[word] = len(self) + 2
        return number

    def numbers_of(self, words):
        """Returns the number of each word, a list."""
        return list(map(self.__getitem__, words))

    @property
    def words(self):
        """The list of all words, as bytes, by number."""
        return [BEGIN_SENTENCE, END_SENTENCE, *self]


class NumberedText(NamedTuple):
    """A text of which each sentence is a 0 and the numbers of its words."""

    words: list[bytes]
    """By number"""
    numbers: np.ndarray
    """int32 `(tokens + sentences,)`"""
    starts: np.ndarray
    """int64 `(runs + 1,)`: where each run of sentences begins; the end"""
    file: mmap.mmap | None = None
    """The file that is mapped as `numbers`"""

    def read(self, runs):
        """Returns the numbers of some runs, a new array."""
        parts = [
            self.numbers[self.starts[run] : self.starts[run + 1]]
            for run in runs
        ]
        tokens = np.concatenate(parts)
        if self.file and hasattr(mmap, "MADV_DONTNEED"):
            # Otherwise all that was read would count as the process's memory.
            self.file.madvise(mmap.MADV_DONTNEED)
        return tokens


class Reading(NamedTuple):
    """What `number_text` found."""

    sentences: int
    tokens: int
    digests: list[list[str]]
    """The name of each shard, and a digest of it, as of `file_digest`"""
    checksum: str = ""
    """Such a digest of the file that was written"""


def number_text(shards, file, on_progress=lambda *_: None, unseen=None):
    """Writes a text as numbers, which `open_numbered_text` reads.

    The numbers come first (int32); then where the runs begin, and where the
    last one ends (int64); and then the words.

    Args:
        shards: Paths of the corpus, as for `text_lines`.
        file: Open binary file to write to, and to read from.
        on_progress: Function that is called regularly with the numbers of
            sentences and of tokens, and the share of the bytes that were read.
        unseen: Set of sentences, each a tuple of words as bytes. Those that are
            in the text are removed from it.

    Returns:
        A `Reading`, and a dictionary from words to their counts.

    Raises:
        ValueError: If no sentence has words, or a shard is not UTF-8.
    """
    words = WordNumbers()
    starts, unwritten = array.array("q"), array.array("i")
    counts = np.zeros(2, "int64")
    digests = []
    done = sentences = empty = size = 0
    total = sum(map(os.path.getsize, shards))
    on_progress(0, 0, 0.0)

    def write():
        nonlocal counts, size
        new = np.bincount(unwritten, minlength=len(words) + 2)
        new[: len(counts)] += counts
        counts = new
        size += len(unwritten)
        unwritten.tofile(file)
        del unwritten[:]

    def on_read(content):
        nonlocal done
        done += len(content)
        digest.update(content)

    for path in shards:
        digest = hashlib.sha256()
        for line in text_lines(path, on_read):
            if sentences % _RUN == 0:
                starts.append(size + len(unwritten))
            unwritten.append(0)
            empty += line.isspace()
            sentence = line.split()
            unwritten.extend(words.numbers_of(sentence))
            if unseen:
                unseen.discard(tuple(sentence))
            sentences += 1
            if sentences % 10_000 == 0:
                tokens = size + len(unwritten) - sentences
                on_progress(sentences, tokens, done / total)
            if len(unwritten) > _WRITTEN_TOKENS:
                write()
        digests.append([os.path.basename(path), digest.hexdigest()[:16]])
    check_sentences(sentences, empty, shards)
    write()
    starts.append(size)
    starts.tofile(file)
    file.write(b"\n".join(words))
    file.flush()
    file.seek(0)
    checksum = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    on_progress(sentences, size - sentences, 1.0)
    reading = Reading(sentences, size - sentences, digests, checksum)
    return reading, dict(zip(words, counts[2:].tolist()))


def open_numbered_text(file, reading):
    """Maps a text that `number_text` wrote into memory.

    Args:
        file: The open binary file. It may be closed afterwards.
        reading: The `Reading`.
    """
    size = reading.sentences + reading.tokens
    runs = -(-reading.sentences // _RUN)
    file.seek(4 * size)
    starts = np.frombuffer(file.read(8 * (runs + 1)), "int64")
    words = [BEGIN_SENTENCE, END_SENTENCE, *file.read().split()]
    mapped = mmap.mmap(file.fileno(), 4 * size, access=mmap.ACCESS_READ)
    numbers = np.frombuffer(mapped, "int32")
    return NumberedText(words, numbers, starts, mapped)


def character_ids(words, indexer):
    """Returns the ids of the characters of words.

    Args:
        words: List of words, as bytes.
        indexer: The `ByteIndexer`.

    Returns:
        int16 array `(words, max_characters_per_token)`.
    """
    ids = np.empty((len(words), *indexer.token_shape), "int16")
    for i in range(0, len(words), 2**16):  # To take little memory.
        part = words[i : i + 2**16]
        ids[i : i + len(part)] = indexer.ids_of_words(part)
    return ids
