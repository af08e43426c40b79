"""The version folders of a served model, `path/1`, `path/2`, ..."""

import os

from keras_elmo.ops.arguments import check_integer

_MODEL_FILE = "saved_model.pb"


def version_folder(path, version=None, overwrite=False):
    """Returns the folder to write a version of a model to.

    Args:
        path: Path of the model's folder.
        version: Integer, or `None` for the one after the last version.
        overwrite: Boolean, whether the version may already exist.

    Raises:
        ValueError: If the version exists and `overwrite` is `False`, or if it
            is not a SavedModel; or if `path` is not a folder of versions.
    """
    path = os.fspath(path)
    if os.path.exists(path) and not os.path.isdir(path):
        raise ValueError(f"`path` must be a folder. Received a file: '{path}'")
    if os.path.exists(os.path.join(path, _MODEL_FILE)):
        raise ValueError(
            "`path` must be a folder of versions, such as the folder that has "
            f"'{os.path.basename(path)}'. Received a SavedModel: '{path}'"
        )
    if version is None:
        if overwrite:
            raise ValueError(
                "With `overwrite=True`, say which `version` to overwrite. "
                "Received: version=None"
            )
        return os.path.join(path, str(max(_versions(path), default=0) + 1))
    check_integer("version", version, 0)
    folder = os.path.join(path, str(version))
    if not os.path.exists(folder):
        return folder
    if not overwrite:
        raise ValueError(
            f"Version {version} already exists; leave `version` out for the "
            "next free one, or pass `overwrite=True`. "
            f"Received: version={version}, path='{path}'"
        )
    if not os.path.exists(os.path.join(folder, _MODEL_FILE)):
        raise ValueError(
            "`overwrite=True` only replaces a SavedModel. "
            f"Received: version={version}, but '{folder}' is not a SavedModel"
        )
    return folder


def _versions(path):
    names = os.listdir(path) if os.path.isdir(path) else []
    return [int(name) for name in names if name.isascii() and name.isdigit()]
