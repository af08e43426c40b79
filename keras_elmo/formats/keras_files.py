"""Checks Keras' `.keras` files before Keras reads them."""

from keras_elmo.files.hdf5_files import open_hdf5
from keras_elmo.files.model_folder import open_folder


def check_keras_file(path):
    """Raises `ValueError` if the weights are corrupt or stored elsewhere."""
    archive = open_folder(path)
    for name in archive.names:
        if not name.endswith(".h5"):
            continue
        try:
            with open_hdf5(archive.file(name)):
                pass
        except Exception as error:  # h5py raises many kinds of errors.
            raise ValueError(
                f"The weight file '{archive.label(name)}' cannot be read: "
                f"{error}"
            ) from error
