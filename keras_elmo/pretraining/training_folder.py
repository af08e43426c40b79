"""The folder of a training, and the record of what the training started with.

Besides the model, it holds `training.json` (the fixed settings, and digests of
the text), `training_state.hdf5` (the last checkpoint) and `log.jsonl`.
"""

import contextlib
import hashlib
import json
import os

from keras_elmo.files.atomic import explain_full_disk
from keras_elmo.files.atomic import write_json
from keras_elmo.files.file_lock import file_lock
from keras_elmo.formats.bilm_names import OPTIONS
from keras_elmo.formats.bilm_names import VOCABULARY
from keras_elmo.models.fingerprint import file_digest
from keras_elmo.text.vocabulary import Vocabulary

STATE_FILE = "training_state.hdf5"
LOG_FILE = "log.jsonl"
TO_START_OVER = "To start over, choose another `output` or pass `restart`."
_RECORD_FILE = "training.json"
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
    def log(self):
        """The `TrainingLog`."""
        return TrainingLog(self.file(LOG_FILE))

    @property
    def state_path(self):
        """Path of the last checkpoint."""
        return self.file(STATE_FILE)

    @property
    def has_training(self):
        """Whether a training was started here."""
        return os.path.exists(self.file(_RECORD_FILE))

    @property
    def has_state(self):
        """Whether there is a checkpoint to resume from."""
        return os.path.exists(self.state_path)

    def check_free(self):
        """Raises `ValueError` if there is a model without a training."""
        if os.path.exists(self.file(OPTIONS)):
            raise ValueError(
                f"'{self.path}' holds a model but no training: the model would "
                "be overwritten. Choose another `output` or pass "
                "`restart`. "
                "Received: a folder with options.json but without "
                f"{_RECORD_FILE}"
            )

    def forget(self):
        """Removes the training, so that another can start.

        Without a record, the other files are discarded. Without `options.json`,
        the old weights no longer count as a model; they would not match the new
        vocabulary.
        """
        for name in (STATE_FILE, LOG_FILE, _RECORD_FILE, OPTIONS):
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.file(name))

    def begin(self, start, shards, counts, vocabulary):
        """Records what a training starts with.

        Args:
            start: Dictionary of arguments that must stay the same, which JSON
                can represent. `from` is the name and the fingerprint of the
                model to start from, or `None`.
            shards: Paths of the corpus.
            counts: Dictionary, the numbers of sentences and tokens in it.
            vocabulary: The `Vocabulary`.
        """
        self.forget()
        vocabulary.write(self.file(VOCABULARY))
        record = {
            "start": start,
            "corpus": counts,
            "shards": [[os.path.basename(p), file_digest(p)] for p in shards],
            "words": _words_digest(vocabulary),
        }
        write_json(self.file(_RECORD_FILE), record)

    def resume(self, start, shards, vocabulary=None):
        """Checks that a training is resumed with what it started with.

        Args:
            start: As for `begin`.
            shards: As for `begin`.
            vocabulary: The requested `Vocabulary`, or `None`.

        Returns:
            The counts of its corpus, and its `Vocabulary`.

        Raises:
            ValueError: If something has changed, or the record is corrupt.
        """
        before, counts, old_shards, digest = self._read_record()
        for name, old in before.items():
            _check_same(name, start.get(name), old)
        _check_shards(shards, old_shards)
        own = Vocabulary.from_file(self.file(VOCABULARY))
        for words in (own, vocabulary or own):
            if _words_digest(words) != digest:
                raise ValueError(
                    f"The training in '{self.path}' started with another "
                    f"vocabulary. {TO_START_OVER}"
                )
        return counts, own

    def _read_record(self):
        path = self.file(_RECORD_FILE)
        with open(path, "rb") as file:
            try:
                record = json.load(file)
                names = ("start", "corpus", "shards", "words")
                return tuple(record[name] for name in names)
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"'{path}' is not the record of a training: {error!r}"
                ) from error


def text_digest(sentences):
    """Returns a digest of a text, 16 hexadecimal digits.

    Args:
        sentences: Iterable of lists of words, each bytes.
    """
    digest = hashlib.sha256()
    for words in sentences:
        digest.update(b" ".join(words) + b"\n")
    return digest.hexdigest()[:16]


def _words_digest(vocabulary):
    return text_digest([word] for word in vocabulary.words)


def _check_same(name, new, old):
    if name == "from" and new and old:
        # The model may have been moved.
        new = [old[0] if new[1] == old[1] else new[0], new[1]]
    if new != old:
        raise ValueError(
            f"A resumed training must have the `{name}` that it started with, "
            f"{old!r}. Received: {new!r}. {TO_START_OVER}"
        )


def _check_shards(paths, before):
    """Raises `ValueError` unless shards match `[name, digest]` pairs."""
    names = [os.path.basename(path) for path in paths]
    old_names = [name for name, _ in before]
    if names != old_names:
        raise ValueError(
            "A resumed training must have the shards that it started with, in "
            "the same order by path. "
            f"Missing: {sorted(set(old_names) - set(names)) or 'none'}. "
            f"New: {sorted(set(names) - set(old_names)) or 'none'}. "
            f"{TO_START_OVER}"
        )
    changed = [
        path
        for path, (_, digest) in zip(paths, before)
        if file_digest(path) != digest
    ]
    if changed:
        raise ValueError(
            "A resumed training must have the text that it started with. "
            f"Changed since: {changed}. Restore these files. "
            f"{TO_START_OVER}"
        )


class TrainingLog:
    """A file of JSON objects, one per line, that a training can roll back.

    Args:
        path: Path of the file; it is created if it does not exist.
    """

    def __init__(self, path):
        self._path = path

    @property
    def size(self):
        """The file's size in bytes."""
        return os.path.getsize(self._path) if os.path.exists(self._path) else 0

    def write(self, **entry):
        """Adds a line, which is in the file when this returns."""
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def wind_back(self, size):
        """Drops everything after the first `size` bytes."""
        if self.size > size:
            os.truncate(self._path, size)
