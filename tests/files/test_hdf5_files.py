"""HDF5 files for reading: data from outside the file is refused."""

import itertools
import subprocess
import sys
import zlib

import h5py
import numpy as np
import pytest
from h5py import h5d
from h5py import h5p
from h5py import h5s
from h5py import h5t
from h5py import h5z
from peak_memory import DEFINE_PEAK
from peak_memory import ON_LINUX

from keras_elmo.files.hdf5_files import open_hdf5
from keras_elmo.files.untrusted_files import UntrustedFile


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.hdf5"
    with h5py.File(path, "w") as store:
        store["group/a"] = np.ones((2, 3))
    return path


def change(path, write):
    with h5py.File(path, "r+") as store:
        write(store)


def refused(file, told):
    with pytest.raises(UntrustedFile, match=told), open_hdf5(file):
        pass


def external(store):
    store.create_dataset("x", (4,), "f4", external=[("/etc/passwd", 0, 16)])


def virtual(store):
    layout = h5py.VirtualLayout((2, 3), "f8")
    layout[:] = h5py.VirtualSource(store["group/a"])
    store.create_virtual_dataset("x", layout)


def external_link(store):
    store["group/x"] = h5py.ExternalLink("/etc/passwd", "/")


def never_stored(store):
    store.create_dataset("x", (1 << 32, 1 << 32), "i1", chunks=(1, 1 << 10))


def huge_and_packed(store):
    x = store.create_dataset("x", (1 << 40,), "f4", compression="gzip")
    x[:10] = 1.0


def packed_chunk(filters, chunk, content):
    """Returns a function that writes 16 bytes in a larger or crafted chunk."""

    def write(store):
        creation = h5p.create(h5p.DATASET_CREATE)
        creation.set_chunk((chunk,))
        for code, values in filters:
            creation.set_filter(code, 0, values)
        space = h5s.create_simple((4,), (h5s.UNLIMITED,))
        x = h5d.create(store.id, b"x", h5t.IEEE_F32LE, space, creation)
        x.write_direct_chunk((0,), content)

    return write


def zeros(number):
    """Packs many zeros, without so much memory."""
    packer = zlib.compressobj(9)
    parts = [packer.compress(bytes(1 << 20)) for _ in range(number >> 20)]
    return b"".join(parts) + packer.flush()


GZIP = (h5z.FILTER_DEFLATE, (9,))
SHUFFLE = (h5z.FILTER_SHUFFLE, (4,))


def other_filter(store):
    store.create_dataset("x", data=np.arange(4), scaleoffset=3)


def same_strings(store):
    """Writes strings that all refer to the same bytes."""
    text = store.create_dataset("text", data=["a" * 9999])
    creation = text.id.get_create_plist()
    creation.set_chunk((100000,))
    creation.set_deflate(9)
    space = h5s.create_simple((100000,))
    x = h5d.create(store.id, b"x", text.id.get_type(), space, creation)
    store.flush()
    with open(store.filename, "rb") as file:
        file.seek(text.id.get_offset())
        place = file.read(16)
    x.write_direct_chunk((0,), zlib.compress(100000 * place))


@pytest.mark.parametrize(
    ("write", "told"),
    [
        (external, "array 'x' is stored in another file, '/etc/passwd'"),
        (virtual, "array 'x' is virtual"),
        (external_link, "'group/x' is a link"),
        (never_stored, "'x' declares 18,446,744,073,709,551,616 bytes, but"),
        (huge_and_packed, "'x' declares 4,398,046,511,104 bytes, but only"),
        # The array has 16 bytes, and its only chunk unpacks to 2 GB.
        (
            packed_chunk([GZIP], 1 << 29, zeros(1 << 20)),
            "its arrays declare 2,147,483,696 bytes, but the file has",
        ),
        (
            packed_chunk([GZIP], 1 << 12, zeros(1 << 20)),
            "chunk of its array 'x' unpacks to more than its size, 16,384 byt",
        ),
        (packed_chunk([GZIP, SHUFFLE], 4, b"x"), "'x' is packed with other fi"),
        (other_filter, "'x' is packed with other filters th"),
        (same_strings, "its arrays declare .* bytes, but the file has"),
    ],
)
def test_what_lies_elsewhere_or_nowhere(path, write, told):
    change(path, write)
    refused(path, told)


READ = """
import sys
from keras_elmo.files.hdf5_files import open_hdf5
from keras_elmo.files.untrusted_files import UntrustedFile
before = peak()
try:
    with open_hdf5(sys.argv[1]) as (store, shapes):
        store["x"][()]
except UntrustedFile:
    print(peak() - before)
"""


@ON_LINUX
def test_the_memory_that_a_crafted_file_takes(path):
    number = 1 << 28
    change(path, packed_chunk([GZIP], 1 << 14, zeros(number)))
    # In a process, because HDF5 takes memory that Python does not know of.
    command = [sys.executable, "-c", DEFINE_PEAK + READ, path]
    assert int(subprocess.check_output(command)) < number // 8


def test_what_is_its_own_is_read(path):
    packed = [*itertools.product(("gzip", "lzf"), (False, True))]

    def write(store):
        for packing, is_shuffled in packed:
            store.create_dataset(
                f"{packing}{is_shuffled:d}",
                data=np.random.rand(9, 9),
                maxshape=(None, 9),
                compression=packing,
                shuffle=is_shuffled,
                fletcher32=is_shuffled,
            )
        store["null"] = h5py.Empty("f4")
        store["empty"] = np.zeros((3, 0, 4))
        store["text"] = "a text"
        store["group/itself"] = store["group"]
        store["reference"] = np.array([store.ref], h5py.ref_dtype)

    change(path, write)
    expected = {"group/a": (2, 3), "null": None, "empty": (3, 0, 4)}
    expected |= {"text": (), "reference": (1,)}
    expected |= {f"{packing}{x:d}": (9, 9) for packing, x in packed}
    with open_hdf5(path) as (store, shapes):
        assert shapes == expected
        assert store["group/a"][()].sum() == 6
