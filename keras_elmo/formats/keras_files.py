"""Checks Keras' `.keras` files before Keras reads them."""

import io

from keras_elmo.files.archives import member_names
from keras_elmo.files.archives import open_archive
from keras_elmo.files.archives import read_member
from keras_elmo.files.hdf5_files import open_hdf5


def check_keras_file(path):
    """Raises `ValueError` if the weights are corrupt or stored elsewhere."""
    with open_archive(path) as archive:
        for name in member_names(archive, path):
            if name.endswith(".h5"):
                content = io.BytesIO(read_member(archive, name, path))
                _check_weights(content, f"{path}/{name}")


def _check_weights(content, label):
    try:
        with open_hdf5(content):
            pass
    except Exception as error:  # h5py raises many kinds of errors.
        raise ValueError(
            f"The weight file '{label}' cannot be read: {error}"
        ) from error
