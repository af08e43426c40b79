"""The folder of a training: what it began with, and whether that is the same.

Beside the model it holds `training.json`, the settings and digests of the text;
`training_state.hdf5`, the last checkpoint; and `log.jsonl`.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import re

from keras_elmo.files.atomic import write_json
from keras_elmo.files.disk_room import room_told
from keras_elmo.files.file_lock import file_lock
from keras_elmo.formats.bilm_names import OPTIONS
from keras_elmo.formats.bilm_names import VOCABULARY
from keras_elmo.models.fingerprint import file_digest
from keras_elmo.text.vocabulary import Vocabulary

STATE_FILE = "training_state.hdf5"
LOG_FILE = "log.jsonl"
TO_BEGIN_ANEW = "To begin anew, choose another folder, or --restart."
_RECORD_FILE = "training.json"
_LOCK_FILE = ".lock"
_ADVICE = "The last checkpoint is as it was; make room and run the same again."
# What a kill leaves of a file that is being written.
_TEMPORARY = re.compile(r"\.\w+\.(hdf5|json|txt)\.\w{8}")


class TrainingFolder:
    """A folder with a training, or for one.

    Args:
        path: Its path; it is made if it is not there.
    """

    def __init__(self, path):
        self.path = os.fspath(path)
        os.makedirs(self.path, exist_ok=True)

    def file(self, name):
        """Returns the path of one of its files."""
        return os.path.join(self.path, name)

    @contextlib.contextmanager
    def lock(self):
        """Context in which no other process may work here.

        Raises:
            BlockingIOError: If another one does.
            OSError: Inside, if the disk is full, saying what is to be done.
        """
        with file_lock(self.file(_LOCK_FILE)):
            for name in filter(_TEMPORARY.fullmatch, os.listdir(self.path)):
                os.remove(self.file(name))
            with room_told(f"to write in '{self.path}'", lambda: _ADVICE):
                yield

    @property
    def has_training(self):
        """Whether a training was begun."""
        return os.path.exists(self.file(_RECORD_FILE))

    @property
    def has_state(self):
        """Whether there is a checkpoint to go on from."""
        return os.path.exists(self.file(STATE_FILE))

    def check_free(self):
        """Raises `ValueError` if there is a model that is no training's."""
        if os.path.exists(self.file(OPTIONS)):
            raise ValueError(
                f"'{self.path}' holds a model and no training: the model would "
                "be overwritten. Choose another folder, or --restart. "
                "Received: a folder with an options.json and no "
                f"{_RECORD_FILE}"
            )

    def forget(self):
        """Removes the training, so that another may begin."""
        for name in (STATE_FILE, LOG_FILE, _RECORD_FILE):
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.file(name))

    def begin(self, settings, shards, counts, vocabulary):
        """Notes with what a training begins.

        Args:
            settings: The `Settings`.
            shards: Paths of the corpus.
            counts: Dictionary, how much text that is.
            vocabulary: The `Vocabulary`.
        """
        # Without a record, what is there does not count.
        self.forget()
        vocabulary.write(self.file(VOCABULARY))
        names = [os.path.basename(path) for path in shards]
        digests = [file_digest(path) for path in shards]
        record = {
            "settings": dataclasses.asdict(settings),
            "corpus": {**counts, "shards": list(zip(names, digests))},
            "words": _words_digest(vocabulary),
        }

        write_json(self.file(_RECORD_FILE), record)

    def resume(self, settings, shards, vocabulary=None):
        """Checks that a training goes on with what it began with.

        Args:
            settings: As for `begin`.
            shards: Likewise.
            vocabulary: The `Vocabulary` that is asked for, or `None`.

        Returns:
            The counts of its corpus, and its `Vocabulary`.

        Raises:
            ValueError: If something is not what it was, or the record is
                damaged.
        """
        before, corpus, digest = self._read_record()
        settings.check_goes_on(before)
        _check_shards(shards, corpus["shards"])
        own = Vocabulary.from_file(self.file(VOCABULARY))
        for words in (own, vocabulary or own):
            if _words_digest(words) != digest:
                raise ValueError(
                    f"The training in '{self.path}' began with another "
                    f"vocabulary. {TO_BEGIN_ANEW}"
                )
        return corpus, own

    def _read_record(self):
        path = self.file(_RECORD_FILE)
        with open(path, "rb") as file:
            try:
                record = json.load(file)
                return record["settings"], record["corpus"], record["words"]
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"'{path}' is not what a training wrote: {error!r}"
                ) from error


def text_digest(sentences):
    """Returns what tells a text from another, 16 hex digits.

    Args:
        sentences: Iterable of lists of words, each bytes.
    """
    digest = hashlib.sha256()
    for words in sentences:
        digest.update(b" ".join(words) + b"\n")
    return digest.hexdigest()[:16]


def _words_digest(vocabulary):
    return text_digest([word] for word in vocabulary.words)


def _check_shards(paths, before):
    """Raises `ValueError` unless shards are those of `[name, digest]` pairs."""
    names = [os.path.basename(path) for path in paths]
    old_names = [name for name, _ in before]
    if names != old_names:
        raise ValueError(
            "A training that goes on must have the shards that it began with. "
            f"Missing: {sorted(set(old_names) - set(names)) or 'none'}. "
            f"New: {sorted(set(names) - set(old_names)) or 'none'}. "
            f"{TO_BEGIN_ANEW}"
        )
    changed = [
        path
        for path, (_, digest) in zip(paths, before)
        if file_digest(path) != digest
    ]
    if changed:
        raise ValueError(
            "A training that goes on must have the text that it began with. "
            f"Changed since: {changed}. Put back what was there. "
            f"{TO_BEGIN_ANEW}"
        )
