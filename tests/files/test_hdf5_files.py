"""HDF5 files for reading: data from outside the file is refused."""

import os

import h5py
import numpy as np
import pytest

from keras_elmo.files import untrusted_files
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
    layout = h5py.VirtualLayout((4,), "f4")
    layout[:] = h5py.VirtualSource("/nowhere.hdf5", "y", (4,))
    store.create_virtual_dataset("x", layout)


def virtual_of_itself(store):
    layout = h5py.VirtualLayout((2, 3), "f8")
    layout[:] = h5py.VirtualSource(store["group/a"])
    store.create_virtual_dataset("x", layout)


def external_link(store):
    store["group/x"] = h5py.ExternalLink("/etc/passwd", "/")


def soft_link(store):
    store["x"] = h5py.SoftLink("/group/a")


def never_stored(store):
    store.create_dataset("x", (4,), "f4")


def huge(store):
    store.create_dataset("x", (1 << 40,), "f4", chunks=(1 << 10,))


def larger_than_64_bits_count(store):
    store.create_dataset("x", (1 << 32, 1 << 32), "i1", chunks=(1, 1 << 10))


def huge_and_packed(store):
    x = store.create_dataset("x", (1 << 40,), "f4", compression="gzip")
    x[:10] = 1.0


@pytest.mark.parametrize(
    "write, told",
    [
        (external, "array 'x' is stored in another file, '/etc/passwd'"),
        (virtual, "array 'x' is virtual"),
        (virtual_of_itself, "array 'x' is virtual"),
        (external_link, "'group/x' is a link"),
        (soft_link, "'x' is a link"),
        (never_stored, "'x' declares 16 bytes, but only 0 are stored"),
        (huge, "'x' declares 4,398,046,511,104 bytes, but only 0 are"),
        (larger_than_64_bits_count, "'x' declares 18,446,744,073,709,551,616"),
        (
            huge_and_packed,
            "arrays declare 4,398,046,511,152 bytes, but the file",
        ),
    ],
)
def test_what_lies_elsewhere_or_nowhere(path, write, told):
    change(path, write)
    refused(path, told)


def test_packed_arrays_of_far_more_than_the_file(path, monkeypatch):
    monkeypatch.setattr(untrusted_files, "_ALWAYS", 1000)
    zeros = np.zeros((1000, 1000))
    change(
        path,
        lambda store: store.create_dataset("x", data=zeros, compression=9),
    )
    refused(path, "its arrays declare 8,000,048 bytes")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_regular_file(tmp_path, make):
    make(tmp_path / "x")
    refused(tmp_path / "x", "not a regular file")


def test_what_is_its_own_is_read(path):
    def write(store):
        store.create_dataset("packed", data=np.zeros((9, 9)), compression=9)
        store["null"] = h5py.Empty("f4")
        store["empty"] = np.zeros((3, 0, 4))
        store["text"] = "a text"
        store["group/itself"] = store["group"]
        store["reference"] = np.array([store.ref], h5py.ref_dtype)

    change(path, write)
    for file in (path, str(path)):
        with open_hdf5(file) as (store, shapes):
            assert shapes == {
                "group/a": (2, 3),
                "packed": (9, 9),
                "null": None,
                "empty": (3, 0, 4),
                "text": (),
                "reference": (1,),
            }
            assert store["group/a"][()].sum() == 6
