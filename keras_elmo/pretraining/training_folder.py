"""The folder of a training, and the record of what the training started with.

Besides the model, it holds `training.json` (the fixed settings, and digests of
the text), `training_text.bin` (the text as numbers, which can be made again),
`training_state.hdf5` (the last checkpoint) and `log.jsonl`.
"""

import contextlib
import hashlib
import json
import os

from keras_elmo.checks import argument_name
from keras_elmo.files.atomic import replace_file
from keras_elmo.files.atomic import temporary_path
from keras_elmo.files.job_record import JobRecord
from keras_elmo.files.model_folder import ModelFolder
from keras_elmo.formats.bilm_names import MODEL_FILES
from keras_elmo.formats.bilm_names import OPTIONS
from keras_elmo.formats.bilm_names import TRAINING
from keras_elmo.formats.bilm_names import VOCABULARY
from keras_elmo.models.fingerprint import file_digest
from keras_elmo.pretraining.numbered_text import Reading
from keras_elmo.pretraining.numbered_text import open_numbered_text
from keras_elmo.text.vocabulary import Vocabulary

STATE_FILE = "training_state.hdf5"
TEXT_FILE = "training_text.bin"
LOG_FILE = "log.jsonl"
# All that a training writes, besides its record.
_FILES = (STATE_FILE, TEXT_FILE, LOG_FILE, *MODEL_FILES)
# Of the record, and of what else changes how a training goes on.
_VERSION = 2
_LOCK_FILE = ".lock"
_ADVICE = "The last checkpoint is unchanged; make room and resume."
_ADVICE_AT_FIRST = "Make room and run the same command again."


class TrainingFolder:
    """The folder of a training, new or old.

    Args:
        path: Path of the folder; it is created if it does not exist.
    """

    def __init__(self, path):
        self.path = os.fspath(path)
        if os.path.isfile(self.path):
            raise ValueError(
                f"{argument_name('output')}, which comes after the text, must "
                f"be a folder to train in. Received a file: '{self.path}'"
            )
        os.makedirs(self.path, exist_ok=True)
        self._record = JobRecord(
            self.file(TRAINING), _VERSION, "choose another folder"
        )
        self.state_path = self.file(STATE_FILE)
        """Path of the last checkpoint"""
        self.text_path = self.file(TEXT_FILE)
        """Path of the text as numbers"""

    def file(self, name):
        """Returns the path of a file in the folder."""
        return os.path.join(self.path, name)

    def lock(self):
        """Context manager that keeps other processes from training here."""

        def advice():
            return _ADVICE if self.has_state else _ADVICE_AT_FIRST

        where = f"to write in '{self.path}'"
        return self._record.locked(_LOCK_FILE, where, advice)

    @property
    def has_training(self):
        """Whether a training was started here."""
        # The vocabulary is written after the record, and never removed alone.
        has_vocabulary = os.path.exists(self.file(VOCABULARY))
        return self._record.exists and (self.has_state or has_vocabulary)

    @property
    def has_state(self):
        """Whether there is a checkpoint to resume from."""
        return os.path.exists(self.state_path)

    @property
    def log_size(self):
        """The size of the log in bytes."""
        path = self.file(LOG_FILE)
        return os.path.getsize(path) if os.path.exists(path) else 0

    def log(self, **entry):
        """Adds a line to the log, which is in the file when this returns."""
        with open(self.file(LOG_FILE), "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def wind_back_log(self, size):
        """Drops everything in the log after the first `size` bytes."""
        if self.log_size > size:
            os.truncate(self.file(LOG_FILE), size)

    def check_files(self):
        """Raises `ValueError` if no training wrote the files that are here."""
        found = [x for x in _FILES if os.path.lexists(self.file(x))]
        if self._record.exists:
            record = ModelFolder(self.path).read_object(TRAINING)
            # Also the records of other versions have it.
            found = [] if "words" in record else [TRAINING]
        if found:
            raise ValueError(
                f"'{self.path}' has files that no training wrote, and this one "
                f"would replace them: {', '.join(found)}. Choose another "
                "folder, or move them away."
            )

    def open_text(self, reading):
        """Returns the `NumberedText`, or `None` if it is missing or damaged.

        Args:
            reading: The `Reading`.
        """
        path = self.text_path
        if not os.path.exists(path) or file_digest(path) != reading.checksum:
            return None
        with open(path, "rb") as file:
            return open_numbered_text(file, reading)

    @contextlib.contextmanager
    def new_text(self):
        """Context with an open file, which becomes the text at its end."""
        with temporary_path(self.text_path) as temporary:
            with open(temporary, "wb+") as file:
                yield file
            replace_file(temporary, self.text_path)

    def begin(self, start, reading, vocabulary):
        """Removes an old training, and records what a new one starts with.

        A record stays all the time: it tells that the files are a training's.

        Args:
            start: Dictionary of arguments that must stay the same, which JSON
                can represent. `initial` is the name and the fingerprint of
                the model to start from, or `None`.
            reading: The `Reading` of the corpus.
            vocabulary: The `Vocabulary`.
        """
        # Without `options.json`, the old weights, which do not match the new
        # vocabulary, no longer count as a model.
        for name in (STATE_FILE, TEXT_FILE, LOG_FILE, OPTIONS, VOCABULARY):
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.file(name))
        words = _words_digest(vocabulary)
        self._record.write(start, corpus=reading._asdict(), words=words)
        vocabulary.write(self.file(VOCABULARY))

    def resume(self, start, shards, vocabulary=None):
        """Checks that a training is resumed with what it started with.

        Args:
            start: As for `begin`.
            shards: Paths of the corpus.
            vocabulary: The requested `Vocabulary`, or `None`.

        Returns:
            The `Reading` of its corpus, and its `Vocabulary`.

        Raises:
            ValueError: If something has changed, or the record is corrupt.
        """
        record = self._record.read()
        old, new = record["settings"].get("initial"), start.get("initial")
        if old and new and old[1] == new[1]:  # It may have another name.
            start = {**start, "initial": old}
        self._record.check(record["settings"], start)
        reading = Reading(**record["corpus"])
        new = [[os.path.basename(path), file_digest(path)] for path in shards]
        old = reading.digests
        if new != old:
            differing = [x for x in new + old if new.count(x) != old.count(x)]
            names = sorted({name for name, _ in differing})
            message = f"Changed, new or missing: {names}."
            if not names:
                was, now = next(x for x in zip(old, new) if x[0] != x[1])
                message = (
                    "The shards are the same, but their order differs: "
                    f"'{now[0]}' is where '{was[0]}' was."
                )
            raise self._record.refusal(
                "A resumed training must have the text that it started with, "
                f"in the same shards and in the same order by path. {message}"
            )
        own = Vocabulary.from_file(self.file(VOCABULARY))
        is_same = _words_digest(own) == record["words"]
        if not is_same or vocabulary not in (None, own):
            raise self._record.refusal(
                f"The training in '{self.path}' started with another "
                "vocabulary."
            )
        return reading, own


def _words_digest(vocabulary):
    return text_digest([word] for word in vocabulary.words)


def text_digest(sentences):
    """Returns a digest of a text, 16 hexadecimal digits.

    Args:
        sentences: Iterable of lists of words, each bytes.
    """
    digest = hashlib.sha256()
    for words in sentences:
        digest.update(b" ".join(words) + b"\n")
    return digest.hexdigest()[:16]
