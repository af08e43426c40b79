"""The folder that keeps the finished part of a job if it is killed."""

import contextlib
import hashlib
import json
import math
import os
import zlib
from typing import NamedTuple

import numpy as np

from keras_elmo.files.atomic import refuse_existing
from keras_elmo.files.atomic import remove_file
from keras_elmo.files.atomic import replace_file
from keras_elmo.files.atomic import replaceable_file
from keras_elmo.files.job_record import JobRecord

_VERSION = 3


class Finished(NamedTuple):
    """How much of a corpus is finished."""

    sentences: int = 0
    tokens: int = 0
    bytes: int = 0
    """The size of their vectors in the file `vectors`."""
    sha256: str = hashlib.sha256().hexdigest()
    """A digest of the sentences."""


class JobFolder:
    """The folder `OUTPUT.parts`; if OUTPUT is a link, beside its target.

    It is locked while in use, and contains:

    - `job.json`: the settings, and how much is finished. It is the first file
      to be written and the last to be removed.
    - `vectors`: the text and the array of each sentence. It only grows; what
      follows the bytes that `job.json` counts as finished is cut off. It is
      removed as soon as the next file is complete.
    - `output`: the file that is moved to OUTPUT.

    Args:
        output: Path of OUTPUT.
    """

    def __init__(self, output):
        self.name = os.fspath(output)
        self._target = replaceable_file(self.name)
        parent = os.path.dirname(os.path.abspath(self._target))
        if not os.path.isdir(parent):
            raise FileNotFoundError(
                f"There is no folder '{parent}' to write '{self.name}' in."
            )
        self.path = f"{self._target}.parts"
        names = "vectors", "output", "job.json"
        self._files = [os.path.join(self.path, name) for name in names]
        self._vectors, self.output, path = self._files
        instead = f"delete the folder '{self.path}'"
        self._record = JobRecord(path, _VERSION, instead)
        self.refusal = self._record.refusal
        self.finished = None
        """What is in `vectors` or `output`; `None` before `begin`."""
        self.is_complete = False
        """Whether that is all, and `vectors` is not needed any more."""

    @contextlib.contextmanager
    def locked(self):
        """Creates the folder, and locks it against other processes."""
        os.makedirs(self.path, exist_ok=True)
        where = f"to write '{self.name}'"
        with self._record.locked("lock", where, self._what_is_kept):
            try:
                yield
            finally:
                if self.finished == Finished():
                    self._remove_files()
                if not self._record.exists:
                    with contextlib.suppress(OSError):  # It has other files.
                        os.remove(os.path.join(self.path, "lock"))
                        os.rmdir(self.path)

    def begin(self, settings, restart, overwrite):
        """Starts or resumes a job.

        Raises:
            FileExistsError: If there is a file at OUTPUT that this job did not
                write, and `overwrite` is not set.
            ValueError: If the folder is from a job with other settings.
        """
        if not self._record.exists and any(map(os.path.exists, self._files)):
            raise ValueError(
                f"'{self.path}' has no 'job.json', so its files are unknown. "
                "Move the folder away."
            )
        done, is_complete = Finished(), False
        if self._record.exists and not restart:
            job = self._record.read()
            done, is_complete = Finished(*job["finished"]), job["is_complete"]
        with contextlib.suppress(FileNotFoundError):
            # It was killed while it moved the file.
            if os.path.samefile(self.output, self._target):
                os.remove(self.output)
        is_moved = is_complete and not os.path.exists(self.output)
        if is_moved and not os.path.exists(self.name):  # It was moved on.
            done, is_complete = Finished(), False
        else:
            refuse_existing(self.name, is_moved or overwrite)
        self._settings = json.loads(json.dumps(settings))
        self._overwrite = overwrite
        if done.sentences or is_complete:
            self._record.check(job["settings"], self._settings)
            self.finished, self.is_complete = done, is_complete
        else:
            self._remove_files()
            self._save(Finished())

    @contextlib.contextmanager
    def open_vectors(self):
        """Opens the file `vectors`, to add further sentences to it."""
        with open(self._vectors, "ab") as file:
            if file.tell() < self.finished.bytes:
                raise self.refusal(f"'{self._vectors}' is corrupt.")
            file.truncate(self.finished.bytes)
            yield file

    def save(self, file, sentences, tokens, sha256):
        """Counts what is in the open file `vectors` as finished."""
        file.flush()
        os.fsync(file.fileno())
        self._save(Finished(sentences, tokens, file.tell(), sha256))

    def read_vectors(self):
        """Yields the text and the array of each finished sentence."""
        try:
            with open(self._vectors, "rb") as file:
                for _ in range(self.finished.sentences):
                    yield read_record(file)
        except ValueError as error:
            raise self.refusal(f"'{self._vectors}' is corrupt.") from error

    def finish(self):
        """Moves the file `output` to OUTPUT, unless that is done already.

        Raises:
            FileExistsError: If OUTPUT has appeared meanwhile; `output` stays.
        """
        self.is_complete = True
        self._save(self.finished)
        remove_file(self._vectors)
        if os.path.exists(self.output):
            kept = self.output
            replace_file(kept, self._target, self._overwrite, kept)
        self._remove_files()

    def _save(self, finished):
        self._record.write(
            self._settings, finished=finished, is_complete=self.is_complete
        )
        self.finished = finished

    def _remove_files(self):
        """Removes the files of the job, `job.json` last."""
        for path in self._files:
            remove_file(path)

    def _what_is_kept(self):
        kept = "Nothing was finished yet, so nothing is kept."
        if self.finished and self.finished.sentences:
            kept = f"The finished part is kept in '{self.path}'."
        return f"{kept} Make room and run the same command again."


def write_record(file, text, vectors):
    """Writes a text and an array, with checksums."""
    content = vectors.tobytes()
    facts = text, vectors.dtype.name, vectors.shape, zlib.crc32(content)
    line = f"{json.dumps(facts)}\n".encode()
    file.write(_checksum(line) + line + content)


def read_record(file):
    """Returns the next text and array; a `ValueError` if it is corrupt."""
    checksum, line = file.read(8), file.readline()
    if checksum != _checksum(line):
        raise ValueError("The checksum of a text is wrong.")
    text, dtype, shape, checksum = json.loads(line)
    content = file.read(math.prod(shape) * np.dtype(dtype).itemsize)
    if checksum != zlib.crc32(content):
        raise ValueError("The checksum of an array is wrong.")
    return text, np.frombuffer(content, dtype).reshape(shape)


def _checksum(line):
    return b"%08x" % zlib.crc32(line)
