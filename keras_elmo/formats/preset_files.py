"""The files of a preset folder: a layer's config, and its arrays.

They are named as in KerasHub's presets. The arrays are in an HDF5 file, with
the names of the variables as keys.
"""

import json
import os

from keras_elmo.files.atomic import write_json
from keras_elmo.files.model_folder import ModelFolder
from keras_elmo.formats.checked_options import MOST_CHARACTERS
from keras_elmo.formats.checked_options import MOST_LAYERS
from keras_elmo.formats.checked_options import CheckedOptions
from keras_elmo.formats.variable_shapes import mix_shapes
from keras_elmo.formats.variable_shapes import variable_shapes
from keras_elmo.formats.weight_files import read_arrays
from keras_elmo.formats.weight_files import write_arrays

_CONFIG = "config.json"
_METADATA = "metadata.json"
_WEIGHTS = "model.weights.h5"
PRESET_FILES = (_CONFIG, _METADATA, _WEIGHTS)


def write_preset(path, config, metadata, arrays):
    """Writes the files of a preset to an existing folder.

    Args:
        path: Path of the folder.
        config: The layer, as serialized by Keras.
        metadata: Dictionary of metadata.
        arrays: Dictionary from the names of the layer's variables to arrays.
    """
    write_json(os.path.join(path, _CONFIG), config)
    write_json(os.path.join(path, _METADATA), metadata)
    write_arrays(os.path.join(path, _WEIGHTS), arrays)


def read_preset(path, registered_name):
    """Reads a preset's config and arrays.

    Args:
        path: Path of the folder.
        registered_name: Registered name of the layer's required class.

    Returns:
        The config, as `read_preset_config` returns it, and a dictionary from
        the names of variables to arrays.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: As for `read_preset_config`; or if an array is missing,
            unexpected, of the wrong shape for the config or not of finite
            floating-point numbers, or the file cannot be read.
    """
    config = read_preset_config(path, registered_name)
    weights = os.path.join(path, _WEIGHTS)
    return config, read_arrays(weights, preset_shapes(config))


def read_preset_config(path, registered_name):
    """Reads a preset's config.

    Args:
        path: Path of the folder.
        registered_name: Registered name of the layer's required class.

    Returns:
        The layer's config, which has no objects of other packages.

    Raises:
        FileNotFoundError: If the file is missing.
        ValueError: If it is corrupt, or has another class or invalid sizes.
    """
    folder = ModelFolder(path)
    subject = f"The config file '{folder.label(_CONFIG)}'"
    content = folder.read(_CONFIG)
    try:
        config = json.loads(content)
        found, config = config["registered_name"], config["config"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(
            f"{subject} is not a layer's config: {error!r}"
        ) from error
    if found != registered_name or not isinstance(config, dict):
        raise ValueError(
            f"{subject} must be for a layer '{registered_name}'. "
            f"Received: {found!r}"
        )
    check_classes(config, subject)
    try:
        preset_shapes(config)
    except ValueError as error:
        raise ValueError(f"{subject} is not a layer's config: {error}") from (
            error
        )
    return config


def check_classes(config, subject):
    """Raises `ValueError` if a layer's config has a forbidden object.

    Args:
        config: The config.
        subject: What the message calls it.
    """
    if isinstance(config, list):
        for item in config:
            check_classes(item, subject)
    if not isinstance(config, dict):
        return
    if "class_name" in config and not _is_known(config):
        raise ValueError(
            f"{subject} must only have objects of keras_elmo; Keras' `.keras` "
            "files can have others. "
            f"Received: {config['class_name']!r} of {config.get('module')!r}"
        )
    for item in config.values():
        check_classes(item, subject)


def _is_known(config):
    name = config["class_name"]
    if not isinstance(name, str):
        return False
    if config.get("module") in ("keras", "keras.dtype_policies"):
        return name.endswith(("DTypePolicy", "DTypePolicyMap"))
    # Both names must be known, as Keras looks up objects by either.
    is_ours = name in (*_TOKEN_ENCODERS, "BiLMEncoder", "ScalarMix")
    return is_ours and config.get("registered_name") == f"keras_elmo>{name}"


def preset_shapes(config):
    """Returns the shapes of an `ElmoLayer`'s variables, by name.

    Args:
        config: The layer's config.

    Raises:
        ValueError: If a part is not of the right class, or a size is not an
            integer or is implausibly large.
    """
    top = CheckedOptions(config)
    _, encoder = _class_and_config(top.section("encoder"), ("BiLMEncoder",))
    encoder = {
        "units": encoder.integer("units", 1),
        "projection_dim": encoder.integer("projection_dim", 1, default=None),
        "num_layers": encoder.integer("num_layers", 1, high=MOST_LAYERS),
    }
    mixes = [
        _class_and_config(mix, ("ScalarMix",))[1].values
        for mix in top.sections("scalar_mix")
    ]
    number = top.integer("num_representations", 1, default=1)
    if not top.flag("return_all_layers") and number != len(mixes):
        expected = f"{len(mixes)}, as many as there are mixes"
        top.fail("num_representations", expected, number)
    token_encoder = _token_encoder(top.section("token_encoder"))
    fixed_weights = [mix.get("fixed_weights") for mix in mixes]
    return {
        **variable_shapes(token_encoder, encoder),
        **mix_shapes(fixed_weights, encoder["num_layers"]),
    }


def _token_encoder(part, classes=None):
    """Returns the arguments of a token encoder that determine its shapes."""
    name, config = _class_and_config(part, classes or tuple(_TOKEN_ENCODERS))
    return _TOKEN_ENCODERS[name](config)


def _class_and_config(part, classes):
    """Returns the class name and the config of a serialized layer."""
    return part.one_of("class_name", classes), part.section("config")


def _char_cnn_embedding(config):
    width = config.integer("max_characters_per_token", 3, high=MOST_CHARACTERS)
    return {
        "filters": config.filters("filters", width),
        "num_highways": config.integer("num_highways", 0, high=MOST_LAYERS),
        "embedding_dim": config.integer("embedding_dim", 1),
        "projection_dim": config.integer("projection_dim", 1, default=None),
    }


def _lexicon_embedding(config):
    return {
        **_char_cnn_embedding(config),
        "projection_dim": config.integer("projection_dim", 1),
        "characters": config.items("characters"),
        "words": config.items("words") or None,
        "word_embedding_dim": config.integer("word_embedding_dim", 1),
    }


def _token_embedding(config):
    return {
        "num_tokens": config.integer("num_tokens", 1),
        "projection_dim": config.integer("projection_dim", 1),
    }


def _known_word_embedding(config):
    return {
        part: _token_encoder(config.section(part), (name,))
        for part, name in (
            ("known_words", "TokenEmbedding"),
            ("character_encoder", "CharCNNEmbedding"),
        )
    }


_TOKEN_ENCODERS = {
    "CharCNNEmbedding": _char_cnn_embedding,
    "LexiconEmbedding": _lexicon_embedding,
    "TokenEmbedding": _token_embedding,
    "KnownWordEmbedding": _known_word_embedding,
}
