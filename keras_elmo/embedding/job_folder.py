"""The folder that keeps the finished part of a job if it is killed."""

import contextlib
import json
import os
import re

from keras_elmo.files.atomic import explain_full_disk
from keras_elmo.files.atomic import replace_file
from keras_elmo.files.atomic import replaceable_file
from keras_elmo.files.atomic import write_json
from keras_elmo.files.file_lock import file_lock

_VERSION = 1
# Nothing else in the folder is ever changed.
_SHARD = re.compile(r"shard-\d{9}")
_TEMPORARY = re.compile(
    r"merged|\.(shard-\d{9}|job\.json|merged)\.keras_elmo(\.lock)?"
)


class JobFolder:
    """The folder `OUTPUT.parts`; if OUTPUT is a link, beside its target.

    It contains finished shards, `job.json` with the job's settings, and a lock
    file. Removing `job.json` ends the job. Before that, `job.json` records
    which file at OUTPUT is the finished one.
    """

    def __init__(self, output, layout):
        self.output = os.fspath(output)
        self._layout = layout
        self._target = replaceable_file(self.output)
        self._check_parent()
        self.path = f"{self._target}.parts"
        self._job_file = os.path.join(self.path, "job.json")
        self._lock_file = os.path.join(self.path, "lock")

    @contextlib.contextmanager
    def locked(self):
        """Creates the folder, and locks it against other processes."""
        try:
            os.mkdir(self.path)
        except FileExistsError:
            pass
        except OSError as error:
            # Name the path that the caller passed.
            raise OSError(error.errno, error.strerror, self.output) from error
        with file_lock(self._lock_file):
            try:
                with explain_full_disk(
                    f"to write '{self.output}'", self._what_is_kept
                ):
                    yield
            finally:
                self._tidy_up()

    def begin(self, settings, restart, overwrite):
        """Starts or resumes a job; returns what `finish` recorded.

        Raises:
            FileExistsError: If there is a file at OUTPUT that this job did not
                write, and `overwrite` is not set.
            ValueError: If the folder is from a job with other settings.
        """
        job = None if restart else self._read_job()
        finished = job and job["finished"]
        is_finished = finished and finished["file"] == self._identity(
            self.output
        )
        if os.path.exists(self.output) and not (is_finished or overwrite):
            raise FileExistsError(
                f"'{self.output}' exists; pass --overwrite to replace it."
            )
        settings = {"version": _VERSION, **settings}
        if is_finished or (job and os.path.exists(self.shard(0))):
            self._check_settings(job["settings"], settings)
        if is_finished:
            return finished["record"]
        if restart:
            self.remove_shards()
        elif job is None and os.path.exists(self.shard(0)):
            raise ValueError(
                f"'{self.path}' has shards but no 'job.json', so their job is "
                f"unknown. {self.how_to_restart}"
            )
        self._remove_temporaries()
        self._write_job({"settings": settings, "finished": None})
        return None

    def shard(self, index):
        """Returns the path of a shard."""
        return os.path.join(self.path, f"shard-{index:09}")

    def remove_shards(self, first=0):
        """Removes all shards from `first` on."""
        for path in self._find(_SHARD):
            if path >= self.shard(first):
                os.remove(path)

    @property
    def merged(self):
        """The path at which to write the merged file, which `finish` moves."""
        return os.path.join(self.path, "merged")

    def finish(self, record):
        """Records that the job is finished, then moves the file to OUTPUT."""
        job = self._read_job()
        job["finished"] = {
            "file": self._identity(self.merged),
            "record": record,
        }
        self._write_job(job)
        replace_file(self.merged, self._target)

    def remove(self):
        """Removes the files of the job, `job.json` last."""
        self.remove_shards()
        self._remove_temporaries()
        os.remove(self._job_file)

    def _check_parent(self):
        parent = os.path.dirname(os.path.abspath(self._target))
        if not os.path.isdir(parent):
            raise FileNotFoundError(
                f"There is no folder '{parent}' to write '{self.output}' in."
            )

    def _read_job(self):
        try:
            with open(self._job_file, encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise ValueError(
                f"'{self._job_file}' is corrupt. {self.how_to_restart}"
            ) from error

    def _write_job(self, job):
        write_json(self._job_file, job)

    def _check_settings(self, old, new):
        new = json.loads(json.dumps(new))
        differing = [
            f"{key}: {old.get(key)!r} before, {new.get(key)!r} now"
            for key in sorted(old.keys() | new.keys())
            if old.get(key) != new.get(key)
        ]
        if differing:
            raise ValueError(
                f"'{self.path}' is from a job with other settings "
                f"({'; '.join(differing)}). {self.how_to_restart}"
            )

    @property
    def how_to_restart(self):
        """A sentence for error messages."""
        return "To start over, pass --restart or delete the folder."

    def _what_is_kept(self):
        kept = "Nothing was finished yet, so nothing is kept."
        if os.path.exists(self.shard(0)):
            kept = f"The finished part is kept in '{self.path}'."
        return f"{kept} Make room and run the same command again."

    def _identity(self, path):
        """Returns properties of a file that do not change when it is moved."""
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return None
        return [self._layout, status.st_size, status.st_mtime_ns]

    def _find(self, pattern):
        """Returns the paths of the job's files that match a pattern."""
        names = filter(pattern.fullmatch, sorted(os.listdir(self.path)))
        return [os.path.join(self.path, name) for name in names]

    def _remove_temporaries(self):
        for path in self._find(_TEMPORARY):
            os.remove(path)

    def _tidy_up(self):
        """Removes the folder, unless there is something to resume from."""
        job = self._read_job()
        if job and (job["finished"] or os.path.exists(self.shard(0))):
            return
        if job:
            self.remove()
        with contextlib.suppress(OSError):  # Other files in it are kept.
            os.remove(self._lock_file)
            os.rmdir(self.path)
