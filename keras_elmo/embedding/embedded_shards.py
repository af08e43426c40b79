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
        """Adds a sentence."""
        self.sentences += 1
        self.tokens += len(sentence.tokens)
        self._digest.update(f"{json.dumps(sentence)}\n".encode())

    def watch(self, sentences):
        """Yields the sentences, and adds them."""
        for sentence in sentences:
            self.add(sentence)
            yield sentence

    def as_dict(self):
        """Returns a dictionary for JSON, to compare with another record."""
        return {
            "sentences": self.sentences,
            "tokens": self.tokens,
            "sha256": self._digest.hexdigest(),
        }


def write_shard(path, embedded):
    """Writes pairs of a `Sentence` and its array, atomically.

    A shard is a `.npz` whose comment has a record of its sentences, after a
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
    """Returns a shard's record; `None` if it is missing or corrupt."""
    try:
        with _as_damage(), zipfile.ZipFile(path) as archive:
            digest, text = archive.comment[:64], archive.comment[64:]
    except (FileNotFoundError, _Damage):
        return None
    return json.loads(text) if digest == _digest(text) else None


def read_shard(path):
    """Yields the text and the array of each sentence of a shard.

    Raises:
        ValueError: If the shard is corrupt; it is then removed.
    """
    embeddings = read_npz(path)
    try:
        while True:
            with _as_damage():
                embedding = next(embeddings, None)
            if embedding is None:
                return
            yield embedding
    except _Damage as error:
        os.remove(path)
        raise ValueError(
            f"'{path}' was corrupt and has been removed; run the same command "
            f"again to recreate it. The error was: {error}"
        ) from error


class _Damage(Exception):
    """The content of a file is not what was written."""


@contextlib.contextmanager
def _as_damage():
    """Context manager that raises `_Damage` for a corrupt file.

    What reading it raises depends on where it is corrupt.
    """
    try:
        yield
    except MemoryError:
        raise
    except OSError as error:
        # The system's errors do not concern the content, except for EINVAL at
        # an impossible offset.
        if error.errno not in (None, errno.EINVAL):
            raise
        raise _Damage(error) from error
    except Exception as error:
        raise _Damage(error) from error


def _digest(text):
    return hashlib.sha256(text).hexdigest().encode()
