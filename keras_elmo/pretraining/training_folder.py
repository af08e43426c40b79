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
from keras_elmo.files.atomic import explain_full_disk
from keras_elmo.files.atomic import replace_file
from keras_elmo.files.atomic import temporary_path
from keras_elmo.files.atomic import write_json
from keras_elmo.files.file_lock import file_lock
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


class TrainingFolder:
    """The folder of a training, new or old.

    Args:
        path: Path of the folder; it is created if it does not exist.
    """

    def __init__(self, path):
        self.path = os.fspath(path)
        os.makedirs(self.path, exist_ok=True)
        self.state_path = self.file(STATE_FILE)
        """Path of the last checkpoint"""
        self.text_path = self.file(TEXT_FILE)
        """Path of the text as numbers"""

    def file(self, name):
        """Returns the path of a file in the folder."""
        return os.path.join(self.path, name)

    @contextlib.contextmanager
    def lock(self):
        """Context manager that keeps other processes from training here.

        Raises:
            BlockingIOError: If another process has the lock.
            OSError: In the context, if the disk is full, saying what to do.
        """
        with (
            file_lock(self.file(_LOCK_FILE)),
            explain_full_disk(f"to write in '{self.path}'", lambda: _ADVICE),
        ):
            yield

    @property
    def has_training(self):
        """Whether a training was started here."""
        # The vocabulary is written after the record, and never removed alone.
        has_vocabulary = os.path.exists(self.file(VOCABULARY))
        return self._has_record and (self.has_state or has_vocabulary)

    @property
    def _has_record(self):
        return os.path.exists(self.file(TRAINING))

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
        if self._has_record:
            self._read_record(of_former_order=True)
            return
        found = [x for x in _FILES if os.path.lexists(self.file(x))]
        if found:
            raise ValueError(
                f"'{self.path}' has files that no training wrote, and this one "
                f"would replace them: {', '.join(found)}. Choose another "
                "folder, or move them away."
            )

    def open_text(self, reading):
        """Returns the `NumberedText`, or `None` if it has to be made again.

        Args:
            reading: The `Reading`.
        """
        try:
            with open(self.text_path, "rb") as file:
                return open_numbered_text(file, reading)
        except FileNotFoundError:
            return None

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
        record = {
            "version": _VERSION,
            "start": start,
            "corpus": reading._asdict(),
            "words": _words_digest(vocabulary),
        }
        write_json(self.file(TRAINING), record)
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
        record = self._read_record()
        changed = [
            f"the {argument_name(name)} that it started with, {old!r}. "
            f"Received: {new!r}"
            for name, old, new in _differences(record["start"], start)
        ]
        if changed:
            raise ValueError(
                "A resumed training must have "
                f"{'. It must have '.join(changed)}. {_to_start_over()}"
            )
        reading = Reading(**record["corpus"])
        new, old = _digests(shards), reading.digests
        if new != old:
            differing = [x for x in new + old if x not in new or x not in old]
            names = sorted({name for name, _ in differing})
            raise ValueError(
                "A resumed training must have the text that it started with, "
                "in the same shards and in the same order by path. "
                f"Changed, new or missing: {names or 'none'}. "
                f"{_to_start_over()}"
            )
        own = Vocabulary.from_file(self.file(VOCABULARY))
        is_same = _words_digest(own) == record["words"]
        if not is_same or vocabulary not in (None, own):
            raise ValueError(
                f"The training in '{self.path}' started with another "
                f"vocabulary. {_to_start_over()}"
            )
        return reading, own

    def _read_record(self, of_former_order=False):
        record = ModelFolder(self.path).read_object(TRAINING)
        if record.keys() == {"start", "corpus", "shards", "words"}:
            if of_former_order:
                return record
            raise ValueError(
                f"The training in '{self.path}' cannot be resumed, because an "
                "earlier version began it, which read the text in another "
                f"order. You can still use its model. {_to_start_over()}"
            )
        if record.keys() != {"version", "start", "corpus", "words"}:
            raise ValueError(
                f"'{self.file(TRAINING)}' is not the record of a training. "
                "Choose another folder."
            )
        return record


def _differences(started, requested):
    """Yields the name, the old and the new value of each that has changed."""
    for name, old in started.items():
        new = requested.get(name)
        has_moved = name == "initial" and new and old and new[1] == old[1]
        if new == old or has_moved:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            # The options, which have flags of their own.
            yield from _differences({**dict.fromkeys(new), **old}, new)
        else:
            yield name, old, new


def _to_start_over():
    return (
        "To start over, choose another folder or pass "
        f"{argument_name('restart', True)}."
    )


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


def _digests(paths):
    """Returns a list `[name, digest]` for each file."""
    return [[os.path.basename(path), file_digest(path)] for path in paths]
