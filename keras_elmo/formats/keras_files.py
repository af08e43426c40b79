"""Checks Keras' `.keras` files before Keras reads them."""

import io

from keras_elmo.files.hdf5_files import open_hdf5
from keras_elmo.files.model_folder import member_names
from keras_elmo.files.model_folder import open_archive
from keras_elmo.files.model_folder import open_member


def check_keras_file(path):
    """Raises `ValueError` if the weights are corrupt or stored elsewhere."""
    with open_archive(path) as archive:
        for name in member_names(archive):
            if name.endswith(".h5"):
                with open_member(archive, name) as file:
                    content = io.BytesIO(file.read())
                _check_weights(content, f"{path}/{name}")


def _check_weights(content, label):
    try:
        with open_hdf5(content):
            pass
    except Exception as error:  # h5py raises many kinds of errors.
        raise ValueError(
            f"The weight file '{label}' cannot be read: {error}"
        ) from error
