"""A layer in a folder, laid out as KerasHub lays out its presets."""

import datetime
import json
import math
import os

import keras

from keras_elmo.files.atomic import write_folder_atomically
from keras_elmo.files.hdf5_files import open_hdf5
from keras_elmo.formats.preset_sizes import count_numbers

_CONFIG = "config.json"
_METADATA = "metadata.json"
_WEIGHTS = "model.weights.h5"
PRESET_FILES = (_CONFIG, _METADATA, _WEIGHTS)


def write_preset_folder(path, layer, save_weights):
    """Writes a layer's config and weights, whole or not at all.

    Args:
        path: Path of the folder, which must not exist yet, or be empty.
        layer: A built layer of this package.
        save_weights: Function that writes the weights to the path it is given.

    Raises:
        ValueError: If there is something at `path`, or the layer holds one of
            another package, which could not be loaded again.
    """
    from keras_elmo import __version__

    config = _without_build(keras.saving.serialize_keras_object(layer))
    _check_classes(config["config"], f"Layer '{layer.name}'")
    now = datetime.datetime.now()
    metadata = {
        "keras_version": keras.__version__,
        "keras_elmo_version": __version__,
        "parameter_count": layer.count_params(),
        "date_saved": now.strftime("%Y-%m-%d@%H:%M:%S"),
    }

    def write(folder):
        for name, content in ((_CONFIG, config), (_METADATA, metadata)):
            file_path = os.path.join(folder, name)
            with open(file_path, "w", encoding="utf-8") as file:
                json.dump(content, file, indent=2)
        save_weights(os.path.join(folder, _WEIGHTS))

    write_folder_atomically(path, write)


def read_preset_config(path, cls):
    """Returns the config, for `cls.from_config`, of a folder's layer.

    Nothing of another package is in it, and no size that the weights are too
    few for, so that it is safe to make layers of.

    Args:
        path: Path of the folder.
        cls: The class that the layer must be of.

    Raises:
        FileNotFoundError: If the weights are missing.
        ValueError: If the file is damaged, or says another class or other
            sizes; or the weights cannot be read, or lie elsewhere.
    """
    file_path = os.path.join(path, _CONFIG)
    try:
        with open(file_path, encoding="utf-8") as file:
            config = json.load(file)
        found, config = config["registered_name"], config["config"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(
            f"The config file '{file_path}' is not that of a layer: {error!r}"
        ) from error
    expected = keras.saving.get_registered_name(cls)
    if found != expected or not isinstance(config, dict):
        raise ValueError(
            f"The config file '{file_path}' must be that of a layer "
            f"'{expected}'. Received: {found!r}"
        )
    _check_classes(config, f"The config file '{file_path}'")
    check_preset_sizes(path, config)
    return config


def check_preset_sizes(path, config):
    """Raises `ValueError` unless a folder's weights can be those of `config`.

    Args:
        path: Path of the folder.
        config: The config of an `ElmoLayer`.

    Raises:
        FileNotFoundError: If the weights are missing.
        ValueError: If they are fewer than the layer has, cannot be read, or
            lie elsewhere.
    """
    weights_path = os.path.join(path, _WEIGHTS)
    if not os.path.exists(weights_path):
        raise FileNotFoundError(f"There is no weight file '{weights_path}'.")
    try:
        needed = count_numbers(config)
    except ValueError as error:
        file_path = os.path.join(path, _CONFIG)
        raise ValueError(
            f"The config file '{file_path}' is not that of a layer: {error}"
        ) from error
    try:
        # Before Keras, which would follow links.
        with open_hdf5(weights_path) as (_, shapes):
            stored = sum(math.prod(shape or ()) for shape in shapes.values())
    except Exception as error:  # h5py raises errors of every kind.
        raise ValueError(_misfit(weights_path, error)) from error
    if needed > stored:
        raise ValueError(
            f"The weight file '{weights_path}' does not fit the config, whose "
            f"sizes ask for {needed:,} numbers. Received: {stored:,}"
        )


def load_preset_weights(path, load_weights):
    """Calls `load_weights` on the path of a folder's weights.

    Args:
        path: Path of a folder whose config was read by `read_preset_config`.
        load_weights: Function of a path.

    Raises:
        ValueError: If they are damaged, or not those of the layer.
    """
    file_path = os.path.join(path, _WEIGHTS)
    try:
        load_weights(file_path)
    except (OSError, RuntimeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(_misfit(file_path, error)) from error


def _misfit(path, error):
    return (
        f"The weight file '{path}' cannot be read, or does not fit the layer. "
        f"The error was: {error}"
    )


def _without_build(config):
    # Parts that are built by themselves have weights of other paths.
    if isinstance(config, dict):
        return {
            key: _without_build(value)
            for key, value in config.items()
            if key != "build_config"
        }
    if isinstance(config, (list, tuple)):
        return [_without_build(item) for item in config]
    return config


def _check_classes(config, subject):
    """Raises `ValueError` if `config` holds an object of another package."""
    if isinstance(config, list):
        for item in config:
            _check_classes(item, subject)
    if not isinstance(config, dict):
        return
    if "class_name" in config and not _is_known(config):
        raise ValueError(
            f"{subject} must hold no objects but those of keras_elmo: Keras' "
            "own `.keras` files may hold others. "
            f"Received: {config['class_name']!r} of {config.get('module')!r}"
        )
    for item in config.values():
        _check_classes(item, subject)


def _is_known(config):
    name = config["class_name"]
    if not isinstance(name, str):
        return False
    if config.get("module") in ("keras", "keras.dtype_policies"):
        return name.endswith(("DTypePolicy", "DTypePolicyMap"))
    # Both must say so, as Keras finds some things by the one or the other.
    registered = f"keras_elmo>{name}"
    return (
        config.get("registered_name") == registered
        and keras.saving.get_registered_object(registered) is not None
    )
