"""The files of a model, in a folder or in a zip file."""

import contextlib
import errno
import json
import os
import posixpath
import shutil
import tempfile
import weakref
import zipfile

from keras_elmo.files.atomic import explain_full_temporary_folder
from keras_elmo.files.untrusted_files import UntrustedFile
from keras_elmo.files.untrusted_files import check_regular
from keras_elmo.files.untrusted_files import describe_mistaken
from keras_elmo.files.untrusted_files import most_unpacked


def open_folder(path):
    """Returns the `ModelFolder` of a folder or of a `.zip`.

    A `ModelFolder` is returned unchanged.

    Raises:
        FileNotFoundError: If there is nothing at `path`.
        ValueError: If a zip cannot be read, has a path that leaves it, or
            declares much more data than it has.
    """
    if isinstance(path, ModelFolder):
        return path
    if os.path.isdir(path):
        return ModelFolder(path)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"There is no file or directory '{path}'.")
    # `is_zipfile(path)` would also be `False` for a file that may not be read.
    with open(path, "rb") as file:
        is_zip = zipfile.is_zipfile(file)
    if not is_zip:
        raise ValueError(
            "A model must be a directory, a .zip or a .keras file; or two "
            "files, an options file and its weight file, as in "
            "`ElmoLayer.from_bilm(options, weights)` or, for the command, "
            f"OPTIONS --weights WEIGHTS. Received only '{path}', which is no "
            "archive, or a truncated one."
        )
    try:
        return _ZippedFolder(_open_archive(path))
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise ValueError(
            f"The archive '{path}' cannot be read: {error}"
        ) from error


def _open_archive(path):
    """Opens a zip file whose files are within it and not too large.

    No more of a file is read than the size that the archive declares.
    """
    archive = zipfile.ZipFile(path)
    declared = 0
    for info in archive.infolist():
        start, *parts = info.filename.replace("\\", "/").split("/")
        if start in ("", "..") or ":" in start or ".." in parts:
            raise ValueError(
                "it contains a path outside itself, so it is not trusted. "
                f"Received: {info.filename!r}"
            )
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # Python unpacks the others without a limit.
            raise ValueError(
                "it must be packed by the usual method, deflate, or not at "
                f"all. Received: another method for {info.filename!r}"
            )
        declared += info.file_size
    size = os.path.getsize(path)
    if declared > most_unpacked(size):
        raise ValueError(
            f"it ({size:,} bytes) declares too much data. Expected at most "
            f"{most_unpacked(size):,} bytes. Received: {declared:,}"
        )
    return archive


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

    def holding(self, find):
        """Returns the folder with a model: itself or, in a zip, one inside.

        Args:
            find: Function that takes the names of a zip's files and its path,
                and returns the name of a file in the model's folder.
        """
        return self

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

    def read_object(self, name):
        """Returns the JSON object in a file.

        Raises:
            FileNotFoundError: If the file does not exist.
            ValueError: If it has no JSON object, or cannot be read.
        """
        content = self.read(name)
        label = self.label(name)
        try:
            found = json.loads(content)
        except (ValueError, RecursionError) as error:
            reason = describe_mistaken(content[:4096]) or error
            raise ValueError(
                f"The file '{label}' is not JSON: {reason}"
            ) from error
        if not isinstance(found, dict):
            raise ValueError(
                f"The file '{label}' must contain a JSON object. "
                f"Received: {type(found).__name__}"
            )
        return found


class _ZippedFolder(ModelFolder):
    """A zip file, or a folder in it. Its files are unpacked when needed.

    They are removed with the last folder of the archive.

    Args:
        archive: The `zipfile.ZipFile`.
        root: The folder's path in the archive. By default, the names are those
            of all files, with their paths.
        unpacked: The folder of unpacked files. By default, a new one.
    """

    def __init__(self, archive, root=None, unpacked=None):
        self.path = posixpath.join(archive.filename, root or "").rstrip("/")
        self._archive = archive
        self._root = root
        self._prefix = posixpath.join(root or "", "")
        files = [i.filename for i in archive.infolist() if not i.is_dir()]
        self._members = [n for n in files if not n.startswith("__MACOSX/")]
        if unpacked is None:
            unpacked = tempfile.mkdtemp()
            weakref.finalize(archive, shutil.rmtree, unpacked, True)
        self._unpacked = unpacked

    def __contains__(self, name):
        return self._prefix + name in self._members

    @property
    def names(self):
        if self._root is None:
            return self._members
        return [
            posixpath.basename(name)
            for name in self._members
            if posixpath.dirname(name) == self._root
        ]

    def holding(self, find):
        root = posixpath.dirname(find(self.names, self.path))
        return _ZippedFolder(self._archive, root, self._unpacked)

    def file(self, name):
        super().file(name)
        member = self._prefix + name
        target = os.path.join(self._unpacked, member)
        if os.path.exists(target):
            return target
        os.makedirs(os.path.dirname(target), exist_ok=True)
        try:
            with (
                explain_full_temporary_folder(f"to unpack '{member}'"),
                self._archive.open(member) as source,
                open(target, "wb") as to,
            ):
                shutil.copyfileobj(source, to)
        except Exception as error:
            with contextlib.suppress(FileNotFoundError):
                os.remove(target)  # It is not complete.
            # An impossible offset in the archive is an invalid argument.
            if getattr(error, "errno", None) not in (None, errno.EINVAL):
                raise  # An error of the system, such as a full disk.
            # Each compression method has its own errors.
            raise ValueError(
                f"'{member}' cannot be read from the archive "
                f"'{self._archive.filename}': {error}"
            ) from error
        return target
