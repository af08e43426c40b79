"""The folder of a training: what it was begun with."""

import contextlib
import dataclasses
import hashlib
import json
import os
import re

from keras_elmo.files.atomic import write_json
from keras_elmo.files.disk_room import room_told
from keras_elmo.files.file_lock import file_lock
from keras_elmo.text.vocabulary import Vocabulary

STATE_FILE = "training_state.hdf5"
LOG_FILE = "log.jsonl"
VOCABULARY_FILE = "vocab.txt"
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
    def has_state(self):
        """Whether there is a checkpoint to go on from."""
        return os.path.exists(self.file(STATE_FILE))

    def check_free(self):
        """Raises `ValueError` if there is a model that is no training's."""
        if os.path.exists(self.file("options.json")):
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

    def read(self):
        """Returns what `write` wrote; `None` where no training was begun.

        Raises:
            ValueError: If the record is damaged.
        """
        path = self.file(_RECORD_FILE)
        if not os.path.exists(path):
            return None
        with open(path, "rb") as file:
            try:
                record = json.load(file)
                return record["settings"], record["corpus"], record["words"]
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"'{path}' is not what a training wrote: {error!r}"
                ) from error

    def write(self, settings, corpus, vocabulary):
        """Notes with what a training begins.

        Args:
            settings: The `Settings`.
            corpus: Dictionary of facts of the corpus.
            vocabulary: The `Vocabulary`.
        """
        # Without a record, what is there does not count.
        self.forget()
        vocabulary.write(self.file(VOCABULARY_FILE))
        record = {
            "settings": dataclasses.asdict(settings),
            "corpus": corpus,
            "words": digest(vocabulary),
        }

        write_json(self.file(_RECORD_FILE), record)

    def read_vocabulary(self):
        """Returns the training's `Vocabulary`."""
        return Vocabulary.from_file(self.file(VOCABULARY_FILE))


def digest(vocabulary):
    """Returns what tells one vocabulary from another, 16 hex digits."""
    words = b"\n".join(vocabulary.words)
    return hashlib.sha256(words).hexdigest()[:16]
