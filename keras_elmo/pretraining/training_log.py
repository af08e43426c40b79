import json
import os


class TrainingLog:
    """A file of JSON objects, one a line, that a training can wind back.

    Args:
        path: Path of the file; it is made if it is not there.
    """

    def __init__(self, path):
        self._path = path

    @property
    def size(self):
        """The file's size in bytes."""
        return os.path.getsize(self._path) if os.path.exists(self._path) else 0

    def write(self, **entry):
        """Adds a line; it is in the file once this returns."""
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def wind_back(self, size):
        """Drops what came after the file had `size` bytes."""
        if self.size > size:
            os.truncate(self._path, size)

    def read(self):
        """Returns the entries, a list of dictionaries."""
        if not self.size:
            return []
        with open(self._path, encoding="utf-8") as file:
            # A kill may have cut the last line off.
            return [json.loads(line) for line in file if line.endswith("\n")]
