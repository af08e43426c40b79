"""Shards: the finished parts of a corpus that is being embedded."""

import hashlib
import json
import os
import zipfile

from keras_elmo.formats.atomic import write_atomically
from keras_elmo.formats.embedding_files import read_npz
from keras_elmo.formats.embedding_files import write_npz


class InputRecord:
    """Counts sentences, and digests their text and tokens."""

    def __init__(self):
        self.sentences = 0
        self.tokens = 0
        self._digest = hashlib.sha256()

    def add(self, sentence):
        """Takes in one more sentence."""
        self.sentences += 1
        self.tokens += len(sentence.tokens)
        self._digest.update(f"{json.dumps(sentence)}\n".encode())

    def watch(self, sentences):
        """Yields the sentences, and takes them in."""
        for sentence in sentences:
            self.add(sentence)
            yield sentence

    def as_dict(self):
        """Returns what JSON can hold, to be compared with another."""
        return {
            "sentences": self.sentences,
            "tokens": self.tokens,
            "sha256": self._digest.hexdigest(),
        }


def write_shard(path, embedded):
    """Writes pairs of a `Sentence` and its array, whole or not at all.

    A shard is a `.npz` whose comment records which sentences it is of.
    """
    record = InputRecord()

    def embeddings():
        for sentence, vectors in embedded:
            record.add(sentence)
            yield sentence.text, vectors

    def write(temporary):
        write_npz(temporary, embeddings())
        with zipfile.ZipFile(temporary, "a") as archive:
            archive.comment = json.dumps(record.as_dict()).encode()

    write_atomically(path, write)


def read_record(path):
    """Returns a shard's record; `None` if it is missing or cut off."""
    try:
        with zipfile.ZipFile(path) as archive:
            return json.loads(archive.comment)
    except (FileNotFoundError, zipfile.BadZipFile, ValueError):
        return None


def read_shard(path):
    """Yields the text and the array of each sentence of a shard.

    Raises:
        ValueError: If the shard is damaged; it is then removed.
    """
    try:
        yield from read_npz(path)
    except (zipfile.BadZipFile, EOFError, KeyError, ValueError) as error:
        os.remove(path)
        raise ValueError(
            f"'{path}' was damaged on the disk and has been removed; run the "
            f"same again to redo it. The error was: {error}"
        ) from error
