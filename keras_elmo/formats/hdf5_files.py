"""HDF5 files: the one place that opens them."""

import contextlib
import io
import os

import h5py

from keras_elmo.formats.untrusted_files import UntrustedFile
from keras_elmo.formats.untrusted_files import check_regular
from keras_elmo.formats.untrusted_files import most_unpacked


@contextlib.contextmanager
def open_hdf5(file):
    """Opens an HDF5 file to read, if all its data is its own.

    HDF5 itself follows links, external storage and virtual arrays to any file
    on the machine, and makes up what was never stored.

    Args:
        file: Path, or file object open for reading.

    Yields:
        The `h5py.File`, and a dictionary from its arrays' keys to their shapes.

    Raises:
        UntrustedFile: If it is not a regular file, holds data that lies
            elsewhere, or declares more data than it stores.
    """
    if isinstance(file, (str, os.PathLike)):
        check_regular(file)
    with h5py.File(file, "r") as store:
        _check_links(store)
        yield store, _checked_shapes(store)


def _check_links(store):
    def is_link(key, link):
        return None if link.type == h5py.h5l.TYPE_HARD else key

    root = store["/"].id  # Its links do not keep it open.
    found = root.links.visit(is_link, info=True)
    if found is not None:
        raise UntrustedFile(
            f"its '{found.decode(errors='replace')}' is a link to another place"
        )


def _checked_shapes(store):
    shapes = {}
    declared = 0

    def visit(key, item):
        nonlocal declared
        if isinstance(item, h5py.Dataset):
            shapes[key] = item.shape
            if item.shape is not None:  # HDF5 knows null arrays.
                declared += _checked_size(key, item)

    store.visititems(visit)
    size = store.id.get_filesize()
    if declared > most_unpacked(size):
        raise UntrustedFile(
            f"its arrays declare {declared:,} bytes, the file has {size:,}"
        )
    return shapes


def _checked_size(key, dataset):
    """The bytes that an array declares, which must be stored in the file."""
    creation = dataset.id.get_create_plist()
    if creation.get_layout() == h5py.h5d.VIRTUAL:
        raise UntrustedFile(
            f"its array '{key}' is virtual: made of arrays of other places"
        )
    if creation.get_external_count():
        raise UntrustedFile(
            f"its array '{key}' is stored in another file, "
            f"'{dataset.external[0][0]}'"
        )
    declared = dataset.id.get_type().get_size() * dataset.size
    stored = dataset.id.get_storage_size()
    is_packed = creation.get_nfilters() > 0
    if stored < (min(1, declared) if is_packed else declared):
        raise UntrustedFile(
            f"its array '{key}' declares {declared:,} bytes, of which "
            f"{stored:,} are stored"
        )
    return declared


@contextlib.contextmanager
def create_hdf5(path):
    """Opens a new HDF5 file, safe against a disk that becomes full.

    HDF5 loses data without a word, or crashes, when a write fails. Here it
    never learns of that, but the context does.

    Yields:
        The `h5py.File`, and a function that raises the error of the first
        write that failed. To be called now and then, so as not to go on in
        vain; at the end it is called in any case.
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
        except BaseException as error:  # An interruption, too.
            self._error = self._error or error
