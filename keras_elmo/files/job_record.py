"""What a job began with, so that it can be resumed."""

import contextlib
import os

from keras_elmo.checks import argument_name
from keras_elmo.files.atomic import explain_full_disk
from keras_elmo.files.atomic import write_json
from keras_elmo.files.file_lock import file_lock
from keras_elmo.files.model_folder import ModelFolder


class JobRecord:
    """The record of a job, a JSON file in the job's folder.

    Args:
        path: Path of the file.
        version: Integer, which changes when jobs that earlier versions began
            can no longer be resumed.
        instead: String, what can be done instead of `restart` to start over.
    """

    def __init__(self, path, version, instead):
        self.path = path
        self._version = version
        self._instead = instead

    @contextlib.contextmanager
    def locked(self, name, where, advice):
        """Context in which no other process works in the folder.

        Args:
            name: Name of the lock file.
            where, advice: As for `explain_full_disk`.

        Raises:
            BlockingIOError: If another process has the lock.
            OSError: In the context, if the disk is full, saying what to do.
        """
        lock = os.path.join(os.path.dirname(self.path), name)
        with file_lock(lock), explain_full_disk(where, advice):
            yield

    @property
    def exists(self):
        """Whether there is a record."""
        return os.path.exists(self.path)

    def write(self, settings, **others):
        """Writes the record atomically.

        Args:
            settings: Dictionary of what must stay the same, which JSON can
                represent.
            **others: Further entries.
        """
        content = {"version": self._version, "settings": settings, **others}
        write_json(self.path, content)

    def read(self):
        """Returns what was written, a dictionary.

        Raises:
            ValueError: If it is corrupt, or of another version.
        """
        folder, name = os.path.split(self.path)
        try:
            content = ModelFolder(folder).read_object(name)
        except ValueError as error:
            raise self.refusal(f"{error}.") from error
        if content.get("version") != self._version or "settings" not in content:
            raise self.refusal(
                f"'{self.path}' describes nothing that can be resumed. If "
                "another version of keras-elmo wrote it, this one would go on "
                "differently (it may read a text in another order)."
            )
        return content

    def check(self, started, requested):
        """Raises `ValueError` if a job is resumed with other settings.

        Args:
            started: The settings in the record.
            requested: The settings to go on with.
        """
        changed = [
            f"the {argument_name(name)} that it started with, {old!r}. "
            f"Received: {new!r}"
            for name, old, new in _differences(started, requested)
        ]
        if changed:
            raise self.refusal(
                f"What is resumed in '{os.path.dirname(self.path)}' must have "
                f"{'. It must have '.join(changed)}."
            )

    def refusal(self, reason):
        """Returns a `ValueError` that also says how to start over."""
        return ValueError(
            f"{reason} To start over, {self._instead} or pass "
            f"{argument_name('restart', True)}."
        )


def _differences(started, requested):
    """Yields the name, the old and the new value of each that has changed."""
    for name in [*started, *(x for x in requested if x not in started)]:
        old, new = started.get(name), requested.get(name)
        if new == old:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            # The options, which have flags of their own.
            yield from _differences(old, new)
        else:
            yield name, old, new
