"""Reads information about SavedModels without loading them."""

import os


def read_signatures(folder):
    """Returns a dictionary of the signatures of a SavedModel, sorted by name.

    Args:
        folder: Path of its folder.

    Raises:
        OSError: If the file cannot be read.
        google.protobuf.message.DecodeError: If it is corrupt.
    """
    from tensorflow.core.protobuf import saved_model_pb2

    with open(os.path.join(folder, "saved_model.pb"), "rb") as file:
        saved = saved_model_pb2.SavedModel.FromString(file.read())
    return dict(sorted(saved.meta_graphs[0].signature_def.items()))
