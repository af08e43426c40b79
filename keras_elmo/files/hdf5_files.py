"""Opens HDF5 files; the rest of the package opens them only through this."""

import contextlib
import io
import math

import h5py
from h5py import h5d
from h5py import h5l
from h5py import h5o

from keras_elmo.files.untrusted_files import UntrustedFile
from keras_elmo.files.untrusted_files import check_regular
from keras_elmo.files.untrusted_files import describe_mistaken
from keras_elmo.files.untrusted_files import most_unpacked


@contextlib.contextmanager
def open_hdf5(path):
    """Opens an HDF5 file for reading, if all its data is in the file itself.

    HDF5 follows links, external storage and virtual arrays to any file on the
    machine, and fills in data that was never stored.

    Args:
        path: Path of the file.

    Yields:
        The `h5py.File`, and a dictionary from its arrays' keys to their shapes.

    Raises:
        UntrustedFile: If it is not a regular file, has data stored elsewhere,
            or declares more data than it stores.
        OSError: If it is not an HDF5 file, or is truncated.
    """
    check_regular(path)
    with _opened(path) as store:
        yield store, _checked_shapes(store)


def _opened(path):
    try:
        return h5py.File(path, "r")
    except OSError as error:
        with open(path, "rb") as file:
            mistaken = describe_mistaken(file.read(4096))
        if mistaken is None:
            raise
        raise OSError(f"{error}: {mistaken}") from error


def _checked_shapes(store):
    # h5py's low-level API is faster: there may be an array for each sentence of
    # a corpus.
    links = []

    def visit(name, link):
        links.append((name, link.type))

    root = store["/"].id  # Its links do not keep the file open.
    root.links.visit(visit, info=True)
    shapes = {}
    declared = 0
    for name, kind in links:
        key = name.decode("utf-8", "backslashreplace")
        if kind != h5l.TYPE_HARD:
            raise UntrustedFile(f"its '{key}' is a link to another place")
        item = h5o.open(root, name)
        if isinstance(item, h5d.DatasetID):
            shapes[key] = item.shape
            declared += _checked_size(key, item)
    size = store.id.get_filesize()
    if declared > most_unpacked(size):
        raise UntrustedFile(
            f"its arrays declare {declared:,} bytes, but the file has {size:,}"
        )
    return shapes


def _checked_size(key, dataset):
    """Returns the declared size of an array, which must be in the file."""
    creation = dataset.get_create_plist()
    if creation.get_layout() == h5d.VIRTUAL:
        raise UntrustedFile(
            f"its array '{key}' is virtual: it refers to other arrays"
        )
    if creation.get_external_count():
        file, *_ = creation.get_external(0)
        raise UntrustedFile(
            f"its array '{key}' is stored in another file, "
            f"'{file.decode('utf-8', 'backslashreplace')}'"
        )
    is_null = dataset.shape is None
    numbers = 0 if is_null else math.prod(dataset.shape)
    declared = numbers * dataset.get_type().get_size()
    stored = dataset.get_storage_size()
    is_packed = creation.get_nfilters() > 0
    if stored < (min(1, declared) if is_packed else declared):
        raise UntrustedFile(
            f"its array '{key}' declares {declared:,} bytes, but only "
            f"{stored:,} are stored"
        )
    return declared


@contextlib.contextmanager
def create_hdf5(path):
    """Opens a new HDF5 file, and raises an error if the disk becomes full.

    When a write fails, HDF5 silently loses data or crashes. So write errors are
    hidden from HDF5 and raised by this context manager.

    Yields:
        The `h5py.File`, and a function that raises the error of the first
        failed write. Call it from time to time, to stop early; it is always
        called at the end.
    """
    with _CheckedFile(path, "w+") as file:
        with h5py.File(file, "w") as store:
            yield store, file.check
        file.check()


class _CheckedFile(io.FileIO):
    _error: BaseException | None = None

    def check(self):
        if self._error is not None:
            raise self._error

    def write(self, data):
        rest = memoryview(data).cast("B")
        with self._errors_kept():
            while rest:
                rest = rest[super().write(rest) :]
        return len(data)

    def truncate(self, size=None):
        with self._errors_kept():
            super().truncate(size)
        return size

    @contextlib.contextmanager
    def _errors_kept(self):
        try:
            yield
        except BaseException as error:  # Including interruptions.
            self._error = self._error or error
