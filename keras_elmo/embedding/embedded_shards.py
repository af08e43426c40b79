"""Embedded shards: the finished parts of a corpus that is being embedded."""

import contextlib
import errno
import hashlib
import json
import os
import zipfile

from keras_elmo.embedding.embedding_files import read_npz
from keras_elmo.embedding.embedding_files import write_npz
from keras_elmo.files.atomic import write_atomically


class InputRecord:
    """Counts sentences, and digests their text and tokens."""

    def __init__(self, sentences=()):
        self.sentences = 0
        self.tokens = 0
        self._digest = hashlib.sha256()
        for sentence in sentences:
            self.add(sentence)

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

    A shard is a `.npz` whose comment records which sentences it is of, after a
    digest of that record.
    """
    record = InputRecord()

    def embeddings():
        for sentence, vectors in embedded:
            record.add(sentence)
            yield sentence.text, vectors

    def write(temporary):
        write_npz(temporary, embeddings())
        with zipfile.ZipFile(temporary, "a") as archive:
            text = json.dumps(record.as_dict()).encode()
            archive.comment = _digest(text) + text

    write_atomically(path, write)


def read_record(path):
    """Returns a shard's record; `None` if it is missing or damaged."""
    try:
        with _damage_told(), zipfile.ZipFile(path) as archive:
            digest, text = archive.comment[:64], archive.comment[64:]
    except (FileNotFoundError, _Damage):
        return None
    return json.loads(text) if digest == _digest(text) else None


def read_shard(path):
    """Yields the text and the array of each sentence of a shard.

    Raises:
        ValueError: If the shard is damaged; it is then removed.
    """
    embeddings = read_npz(path)
    try:
        while True:
            with _damage_told():
                embedding = next(embeddings, None)
            if embedding is None:
                return
            yield embedding
    except _Damage as error:
        os.remove(path)
        raise ValueError(
            f"'{path}' was damaged on the disk and has been removed; run the "
            f"same again to redo it. The error was: {error}"
        ) from error


class _Damage(Exception):
    """What a file holds is not what was written."""


@contextlib.contextmanager
def _damage_told():
    """Context in which a file that is not as it was written is a `_Damage`.

    What reading it raises depends on where it is damaged.
    """
    try:
        yield
    except MemoryError:
        raise
    except OSError as error:
        # The system's own say nothing of what the file holds, but for one of
        # a place that cannot be.
        if error.errno not in (None, errno.EINVAL):
            raise
        raise _Damage(error) from error
    except Exception as error:
        raise _Damage(error) from error


def _digest(text):
    return hashlib.sha256(text).hexdigest().encode()
