"""The files of a preset folder: a layer's config, and its arrays.

They are named as in KerasHub's presets. The arrays are in an HDF5 file, with
the names of the variables as keys, which Keras' `load_weights` does not read.
"""

import os

from keras_elmo.checks import MOST_CHARACTERS
from keras_elmo.checks import MOST_LAYERS
from keras_elmo.files.atomic import write_json
from keras_elmo.files.model_folder import ModelFolder
from keras_elmo.formats.checked_options import CheckedOptions
from keras_elmo.formats.weight_files import read_arrays
from keras_elmo.formats.weight_files import write_arrays

_CONFIG = "config.json"
_METADATA = "metadata.json"
_WEIGHTS = "model.weights.h5"
PRESET_FILES = (_CONFIG, _METADATA, _WEIGHTS)

_TOKEN_ENCODERS = ("CharCNNEmbedding", "LexiconEmbedding")
_SIZES = {
    "num_layers": MOST_LAYERS,
    "num_highways": MOST_LAYERS,
    "max_characters_per_token": MOST_CHARACTERS,
}
_LIMITS = ("cell_clip", "proj_clip")
_FLAGS = (
    "add_sentence_boundaries",
    "keep_sentence_boundaries",
    "layer_norm",
    "return_all_layers",
    "trainable",
    "use_skip_connections",
)
_FLOATS = ("bfloat16", "float16", "float32", "float64")
_DTYPES = (*_FLOATS, "mixed_bfloat16", "mixed_float16")
_REGULARIZERS = ("L1", "L1L2", "L2")


def write_preset(path, layer, metadata, arrays):
    """Writes the files of a preset to an existing folder.

    Args:
        path: Path of the folder.
        layer: The layer, as `checked_layer` returns it.
        metadata: Dictionary of metadata.
        arrays: Iterable of pairs of a variable's name and its array.
    """
    write_json(os.path.join(path, _CONFIG), layer)
    write_json(os.path.join(path, _METADATA), metadata)
    write_arrays(os.path.join(path, _WEIGHTS), arrays)


def read_config(path, registered_names):
    """Reads the config of a preset's layer.

    Args:
        path: Path of the folder.
        registered_names: Tuple of the registered names of the classes that the
            layer may have.

    Returns:
        The config, for the class's `from_config`.

    Raises:
        FileNotFoundError: If the file is missing.
        ValueError: If it is corrupt, has another class, or as for
            `checked_layer`.
    """
    folder = ModelFolder(path)
    try:
        layer = folder.read_object(_CONFIG)
        CheckedOptions(layer).one_of("registered_name", registered_names)
        return checked_layer(layer)["config"]
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"'{folder.label(_CONFIG)}' is not a layer's config: {error}"
        ) from error


def read_preset_arrays(path, shapes):
    """Reads the arrays of a preset's layer; arguments as for `read_arrays`."""
    return read_arrays(os.path.join(path, _WEIGHTS), shapes)


def checked_layer(layer):
    """Returns a serialized layer with only what a preset may contain.

    Keras makes an object of any class that is registered in the program, if a
    config names it anywhere. So every name must be known. What would build or
    compile a layer is left out.

    Args:
        layer: The `ElmoLayer`, as serialized by Keras.

    Raises:
        ValueError: If there is another object, or a value that only makes a
            layer fail when it is called, or that creates too many layers.
    """
    layer = CheckedOptions(layer)
    config = layer.section("config")
    token_encoder = config.section("token_encoder")
    mixes = config.sections("scalar_mix")
    parts = {
        "token_encoder": _checked_part(token_encoder, _TOKEN_ENCODERS),
        "encoder": _checked_part(config.section("encoder"), ["BiLMEncoder"]),
        "scalar_mix": [_checked_part(mix, ["ScalarMix"]) for mix in mixes],
    }
    _check_values(config, others=parts)
    return _without_build(layer) | {"config": config.values | parts}


def _checked_part(part, classes):
    name = part.one_of("class_name", classes)
    # Keras prefers the registered name to the others.
    part.one_of("registered_name", (f"keras_elmo>{name}",))
    _check_values(part.section("config"))
    return _without_build(part)


def _without_build(layer):
    names = ("module", "class_name", "config", "registered_name")
    return {key: layer.values.get(key) for key in names}


def _check_values(config, others=()):
    for key, value in config.values.items():
        if key in others:
            continue
        if key == "dtype":
            _check_dtype(config)
        elif key == "regularizer" and value is not None:
            _check_regularizer(config.section(key))
        elif key in _FLAGS:
            if not isinstance(value, bool):
                config.fail(key, "true or false", value)
        elif key in _LIMITS:
            config.limit(key)
        elif key in _SIZES:
            config.integer(key, 0, high=_SIZES[key])
        elif _has_object(value):
            config.fail(key, "a value without objects", value)


def _check_dtype(config):
    policy = {"module": "keras", "class_name": "DTypePolicy"}
    policies = [
        {**policy, "config": {"name": name}, "registered_name": None}
        for name in _DTYPES
    ]
    value = config.values["dtype"]
    if value not in _DTYPES and value not in policies:
        config.fail("dtype", f"a policy of Keras, one of {_DTYPES}", value)


def _check_regularizer(part):
    part.one_of("class_name", _REGULARIZERS)
    part.one_of("module", ("keras.regularizers",))
    if part.values.get("registered_name") is not None:
        part.fail("registered_name", "null", part.values["registered_name"])
    _check_values(part.section("config"))


def _has_object(value):
    if isinstance(value, dict):
        return "class_name" in value or any(map(_has_object, value.values()))
    return isinstance(value, list) and any(map(_has_object, value))
