"""The files of a model, in a folder or in a zip file."""

import contextlib
import errno
import glob
import os
import posixpath
import shutil
import tempfile
import zipfile

from keras_elmo.files.untrusted_files import UntrustedFile
from keras_elmo.files.untrusted_files import check_regular
from keras_elmo.files.untrusted_files import most_unpacked


@contextlib.contextmanager
def open_archive(path):
    """Opens a zip file whose files are within it and not too large.

    No more of a file is read than the size that the archive declares.

    Yields:
        The `zipfile.ZipFile`.

    Raises:
        ValueError: If it cannot be read, has a path that leaves it, or declares
            much more data than it has.
    """
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise ValueError(
            f"The archive '{path}' cannot be read: {error}"
        ) from error
    with archive:
        for name in archive.namelist():
            start, *parts = name.replace("\\", "/").split("/")
            if start in ("", "..") or ":" in start or ".." in parts:
                raise ValueError(
                    f"The archive '{path}' contains a path outside itself, so "
                    f"it is not trusted. Received: {name!r}"
                )
        size = os.path.getsize(path)
        declared = sum(info.file_size for info in archive.infolist())
        if declared > most_unpacked(size):
            raise ValueError(
                f"The archive '{path}' ({size:,} bytes) declares too much "
                f"data. Expected at most {most_unpacked(size):,} bytes. "
                f"Received: {declared:,}"
            )
        yield archive


def member_names(archive):
    """Returns the names of the files in an open archive."""
    names = [i.filename for i in archive.infolist() if not i.is_dir()]
    return [n for n in names if not n.startswith("__MACOSX/")]


@contextlib.contextmanager
def open_member(archive, name):
    """Opens one file of an archive; errors are as for `open_archive`."""
    try:
        with archive.open(name) as file:
            yield file
    except Exception as error:
        # An impossible offset in the archive is an invalid argument.
        if getattr(error, "errno", None) not in (None, errno.EINVAL):
            raise  # An error of the system, such as a full disk.
        # Each compression method has its own errors.
        raise ValueError(
            f"'{name}' cannot be read from the archive '{archive.filename}': "
            f"{error}"
        ) from error


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
        ValueError: As for `open_archive`, or as for `find`.
    """
    if os.path.isdir(path):
        yield ModelFolder(path)
    elif not os.path.isfile(path):
        raise FileNotFoundError(f"There is no file or directory '{path}'.")
    else:
        with (
            open_archive(path) as archive,
            tempfile.TemporaryDirectory() as unpacked,
        ):
            root = posixpath.dirname(find(member_names(archive), path))
            yield _ZippedFolder(archive, root, unpacked)


def inner_folder_hint(path):
    """Returns a sentence that names the only model folder in a folder.

    An unpacked archive often has one. Without it, the sentence is empty.
    """
    files = glob.glob(os.path.join(glob.escape(os.fspath(path)), "*", "*"))
    endings = (".hdf5", ".json", ".pkl")
    inner = {os.path.dirname(name) for name in files if name.endswith(endings)}
    if len(inner) != 1:
        return ""
    return f" The model may be in the folder '{inner.pop()}': pass that."


class ModelFolder:
    """A folder of files.

    Args:
        path: Its path.
    """

    def __init__(self, path):
        self.path = path
        """The folder's name in messages."""

    def __contains__(self, name):
        return os.path.exists(self.label(name))

    @property
    def names(self):
        """The files' names."""
        return os.listdir(self.path)

    def label(self, name):
        """Returns a file's name in messages."""
        return os.path.join(self.path, name)

    def file(self, name):
        """Returns a path where a file can be opened.

        Raises:
            FileNotFoundError: If the file does not exist.
            ValueError: If it cannot be unpacked.
        """
        if name not in self:
            raise FileNotFoundError(f"There is no file '{self.label(name)}'.")
        return self.label(name)

    def read(self, name):
        """Returns the bytes of a file; raises errors as `file` does."""
        path = self.file(name)
        try:
            check_regular(path)
        except UntrustedFile as error:
            raise ValueError(f"'{path}' was not read: {error}.") from error
        with open(path, "rb") as file:
            return file.read()


class _ZippedFolder(ModelFolder):
    """A folder in a zip file. Its files are unpacked when needed."""

    def __init__(self, archive, root, unpacked):
        super().__init__(posixpath.join(archive.filename, root).rstrip("/"))
        self._archive = archive
        self._start = f"{root}/" if root else ""
        self._unpacked = unpacked

    def __contains__(self, name):
        return f"{self._start}{name}" in member_names(self._archive)

    @property
    def names(self):
        return [
            name.removeprefix(self._start)
            for name in member_names(self._archive)
            if posixpath.dirname(name) == self._start.rstrip("/")
        ]

    def label(self, name):
        return posixpath.join(self.path, name)

    def file(self, name):
        super().file(name)
        target = os.path.join(self._unpacked, self._start, name)
        if not os.path.exists(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            member = f"{self._start}{name}"
            with (
                open_member(self._archive, member) as source,
                open(target, "wb") as file,
            ):
                shutil.copyfileobj(source, file)
        return target
