"""Helpers that read and compare the arrays of HDF5 files by name."""

import h5py
import numpy as np


def all_arrays(path):
    """Returns every array of an HDF5 file, read with only h5py."""
    arrays = {}

    def visit(key, item):
        if isinstance(item, h5py.Dataset):
            arrays[key] = item[()]

    with h5py.File(path, "r") as store:
        store.visititems(visit)
    return arrays


def shapes_of(arrays):
    return {key: array.shape for key, array in arrays.items()}


def check_equal(found, expected):
    assert set(found) == set(expected)
    for key, array in expected.items():
        assert found[key].dtype == array.dtype
        np.testing.assert_array_equal(found[key], array)
