import json
import os


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

    def read(self):
        """Returns the entries, a list of dictionaries."""
        if not self.size:
            return []
        with open(self._path, encoding="utf-8") as file:
            # The last line is incomplete if the process was killed.
            return [json.loads(line) for line in file if line.endswith("\n")]
