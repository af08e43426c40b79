"""Opens HDF5 files; the rest of the package opens them only through this."""

import contextlib
import io
import math
import zlib

import h5py
from h5py import h5d
from h5py import h5l
from h5py import h5o
from h5py import h5z

from keras_elmo.files.untrusted_files import UntrustedFile
from keras_elmo.files.untrusted_files import check_regular
from keras_elmo.files.untrusted_files import describe_mistaken
from keras_elmo.files.untrusted_files import most_unpacked

# HDF5 gives the others as much memory as the file asks for.
_FILTERS = [
    (*shuffle, *packing)
    for shuffle in ((), (h5z.FILTER_SHUFFLE,))
    for packing in ((), (h5z.FILTER_DEFLATE,), (h5z.FILTER_LZF,))
]


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
            declares more data than it stores, or takes far more memory.
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
    size = store.id.get_filesize()
    shapes = {}
    packed = []
    declared = 0
    for name, link_type in links:
        key = name.decode("utf-8", "backslashreplace")
        if link_type != h5l.TYPE_HARD:
            raise UntrustedFile(f"its '{key}' is a link to another place")
        item = h5o.open(root, name)
        if isinstance(item, h5d.DatasetID):
            shapes[key] = item.shape
            declared += _checked_size(key, item, size)
            if item.get_create_plist().get_nfilters():
                packed.append((key, item))
    if declared > most_unpacked(size):
        raise UntrustedFile(
            f"its arrays declare {declared:,} bytes, but the file has {size:,}"
        )
    for key, item in packed:
        _check_chunks(key, item)
    return shapes


def _checked_size(key, dataset, file_size):
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
    numbers = 0 if dataset.shape is None else math.prod(dataset.shape)
    number_size = dataset.get_type().get_size()
    declared = numbers * number_size
    stored = dataset.get_storage_size()
    if creation.get_nfilters():
        # A chunk is unpacked as a whole, even if it is larger than the array.
        stored = number_size * math.prod(creation.get_chunk())
        stored *= dataset.get_num_chunks()
    if stored < declared:
        raise UntrustedFile(
            f"its array '{key}' declares {declared:,} bytes, but only "
            f"{stored:,} are stored"
        )
    # Strings may all refer to the same bytes.
    return numbers * file_size if dataset.dtype.hasobject else stored


def _check_chunks(key, dataset):
    """Raises `UntrustedFile` if chunks unpack to more than they declare."""
    creation = dataset.get_create_plist()
    filters = [
        creation.get_filter(i)[0] for i in range(creation.get_nfilters())
    ]
    if tuple(f for f in filters if f != h5z.FILTER_FLETCHER32) not in _FILTERS:
        raise UntrustedFile(
            f"its array '{key}' is packed with other filters than gzip, lzf, "
            "shuffle and fletcher32: write it again with one of these or none"
        )
    if h5z.FILTER_DEFLATE not in filters:
        return
    deflate = filters.index(h5z.FILTER_DEFLATE)
    # Perhaps with a checksum.
    size = math.prod(creation.get_chunk()) * dataset.get_type().get_size() + 4
    offsets = []
    dataset.chunk_iter(lambda chunk: offsets.append(chunk.chunk_offset))
    for offset in offsets:
        unfiltered, content = dataset.read_direct_chunk(offset)
        if unfiltered >> deflate & 1:
            continue
        if len(zlib.decompressobj().decompress(content, size + 1)) > size:
            raise UntrustedFile(
                f"a chunk of its array '{key}' unpacks to more than its size, "
                f"{size - 4:,} bytes"
            )


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
