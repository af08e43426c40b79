"""HDF5 files as the tests see them."""

import h5py


def all_arrays(path):
    """Every array of an HDF5 file, read with h5py alone."""
    arrays = {}

    def visit(key, item):
        if isinstance(item, h5py.Dataset):
            arrays[key] = item[()]

    with h5py.File(path, "r") as store:
        store.visititems(visit)
    return arrays
