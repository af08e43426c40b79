"""The files of a model, in a folder or in a zip file."""

import contextlib
import os
import posixpath
import shutil
import tempfile

from keras_elmo.files.archives import check_sizes
from keras_elmo.files.archives import member_names
from keras_elmo.files.archives import open_archive
from keras_elmo.files.archives import open_member
from keras_elmo.files.untrusted_files import UntrustedFile
from keras_elmo.files.untrusted_files import read_regular


@contextlib.contextmanager
def open_folder(path, find):
    """Opens a folder, or the folder in a zip file that contains a model.

    Args:
        path: Path of the folder or of the `.zip`.
        find: Function that takes the names of a zip's files and its path, and
            returns the name of a file in the model's folder.

    Yields:
        A `ModelFolder`, for use within the context.

    Raises:
        FileNotFoundError: If there is nothing at `path`.
        ValueError: If a zip cannot be read, or as for `find`.
    """
    if os.path.isdir(path):
        yield ModelFolder(path)
    elif not os.path.isfile(path):
        raise FileNotFoundError(f"There is no file or directory '{path}'.")
    else:
        with (
            open_archive(path) as archive,
            tempfile.TemporaryDirectory() as folder,
        ):
            root = posixpath.dirname(find(member_names(archive, path), path))
            yield _ZippedFolder(archive, path, root, folder)


def inner_folder_hint(path):
    """Returns a sentence that names the only model folder in a folder.

    An unpacked archive often has one. Without it, the sentence is empty.
    """
    if not os.path.isdir(path):
        return ""
    folders = (os.path.join(path, name) for name in os.listdir(path))
    inner = [folder for folder in folders if _looks_like_a_model(folder)]
    if len(inner) != 1:
        return ""
    return f" The model may be in the folder '{inner[0]}': pass that."


def _looks_like_a_model(folder):
    try:
        names = os.listdir(folder)
    except OSError:  # It is not a folder, or must not be read.
        return False
    return any(name.endswith((".hdf5", ".json", ".pkl")) for name in names)


class ModelFolder:
    """A folder of files.

    Args:
        path: Its path.
    """

    is_zipped = False

    def __init__(self, path):
        self.path = path
        """The folder's name in messages."""

    def __contains__(self, name):
        return os.path.exists(self.label(name))

    @property
    def names(self):
        """The files' names."""
        return os.listdir(self.path)

    @property
    def packed_size(self):
        """The size of the zip in bytes; `None` for a folder."""
        return None

    def label(self, name):
        """Returns a file's name in messages."""
        return os.path.join(self.path, name)

    def file(self, name, most=None):
        """Returns a path where a file can be opened.

        Args:
            name: The file's name.
            most: Integer, the maximum unpacked size in bytes, if lower than the
                general limit.

        Raises:
            FileNotFoundError: If the file does not exist.
            ValueError: If it cannot be unpacked, or is larger.
        """
        if name not in self:
            raise FileNotFoundError(f"There is no file '{self.label(name)}'.")
        return self.label(name)

    def folder(self, names):
        """Returns the path of a folder that contains the files `names`."""
        return self.path

    def read(self, name, most=None):
        """Returns the bytes of a file; arguments as for `file`."""
        try:
            return read_regular(self.file(name, most))
        except UntrustedFile as error:
            raise ValueError(
                f"'{self.label(name)}' was not read: {error}."
            ) from error


class _ZippedFolder(ModelFolder):
    """A folder in a zip file. Its files are unpacked when needed."""

    is_zipped = True

    def __init__(self, archive, path, root, folder):
        super().__init__(posixpath.join(path, root) if root else path)
        self._archive = archive
        self._archive_path = path
        self._folder = folder
        start = f"{root}/" if root else ""
        self._members = {
            name.removeprefix(start): name
            for name in member_names(archive, path)
            if name.startswith(start)
        }
        self._unpacked = []

    def __contains__(self, name):
        return name in self._members

    @property
    def names(self):
        return [name for name in self._members if "/" not in name]

    @property
    def packed_size(self):
        return os.path.getsize(self._archive_path)

    def label(self, name):
        return posixpath.join(self.path, name)

    def file(self, name, most=None):
        super().file(name)
        member = self._members[name]
        target = os.path.join(self._folder, name)
        if member not in self._unpacked:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            archive, path = self._archive, self._archive_path
            check_sizes(archive, [*self._unpacked, member], path)
            with (
                open_member(archive, member, path, most) as source,
                open(target, "wb") as file,
            ):
                shutil.copyfileobj(source, file)
            self._unpacked.append(member)
        return target

    def folder(self, names):
        for name in names:
            self.file(name)
        return self._folder
