import copy
import datetime

import keras

from keras_elmo.files.atomic import write_folder_atomically
from keras_elmo.formats.preset_files import PRESET_FILES
from keras_elmo.formats.preset_files import check_classes
from keras_elmo.formats.preset_files import preset_shapes
from keras_elmo.formats.preset_files import read_preset
from keras_elmo.formats.preset_files import read_preset_config
from keras_elmo.formats.preset_files import write_preset
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.models.built_layers import build_layer
from keras_elmo.models.built_layers import check_built
from keras_elmo.models.fingerprint import files_fingerprint
from keras_elmo.models.found_model import FoundModel
from keras_elmo.models.found_model import check_no_words
from keras_elmo.models.model_facts import parameter_fact
from keras_elmo.models.model_facts import size_facts
from keras_elmo.models.variables import VariableArrays
from keras_elmo.models.variables import assign_arrays
from keras_elmo.models.variables import find_variable
from keras_elmo.text.word_vectorization import vectorization_of

_OF_MIXES = ("num_representations", "return_all_layers", "scalar_mix")


class PresetFolder(FoundModel):
    """A folder of `ElmoLayer.save_to_preset`."""

    what = "a folder of ElmoLayer.save_to_preset"

    def load(self, cls=ElmoLayer, **kwargs):
        check_no_words(self.path, kwargs)
        return load_preset_folder(cls, self.path, **kwargs)

    def make_vectorization(self, **kwargs):
        check_no_words(self.path, kwargs)
        config = read_preset_config(self.path, "keras_elmo>ElmoLayer")
        return vectorization_of(
            keras.saving.deserialize_keras_object(config["token_encoder"])
        )

    def fingerprint(self):
        # Without the metadata, which contain a date.
        names = [n for n in PRESET_FILES if n != "metadata.json"]
        return files_fingerprint(self.path, names)

    def open_language_model(self):
        raise ValueError(
            "keras-elmo convert, perplexity and pretrain --from take the "
            "files of a language model, options.json with weights.hdf5 or a "
            f"checkpoint. Received: '{self.path}', a folder of "
            "ElmoLayer.save_to_preset, which holds no softmax; "
            "use `save_to_bilm` to write options.json and weights.hdf5"
        )

    def facts(self):
        config, arrays = read_preset(self.path, "keras_elmo>ElmoLayer")
        parts = (config[name] for name in ("token_encoder", "encoder"))
        yield from size_facts(*(part["config"] for part in parts))
        yield parameter_fact(arrays)


def save_to_preset(layer, folder, overwrite=False):
    """Writes a built layer; see `ElmoLayer.save_to_preset`.

    With `overwrite`, it replaces the preset in an existing folder.
    """
    from keras_elmo import __version__

    check_built(layer)
    serialized = _without_build(keras.saving.serialize_keras_object(layer))
    check_classes(serialized["config"], f"Layer '{layer.name}'")
    names = preset_shapes(serialized["config"])
    _check_all_named(layer, names)
    metadata = {
        "keras_version": keras.__version__,
        "keras_elmo_version": __version__,
        "parameter_count": layer.count_params(),
        "date_saved": datetime.datetime.now().strftime("%Y-%m-%d@%H:%M:%S"),
    }

    def write(path):
        write_preset(path, serialized, metadata, VariableArrays(layer, names))

    write_folder_atomically(folder, write, PRESET_FILES, overwrite)


def load_preset_folder(cls, folder, trainable=None, **kwargs):
    """Creates the layer of a folder; see `ElmoLayer.from_preset`."""
    for argument in ("token_encoder", "encoder"):
        if argument in kwargs:
            raise ValueError(
                f"`{argument}` must be left out: the preset has its own. "
                f"Received: {argument}={kwargs[argument]!r}"
            )
    registered_name = keras.saving.get_registered_name(cls)
    saved, arrays = read_preset(folder, registered_name)
    layer, has_new_mixes = _make(cls, saved, kwargs, folder)
    if has_new_mixes:
        arrays = {k: a for k, a in arrays.items() if "scalar_mixes" not in k}
    assign_arrays(layer, arrays)
    if trainable is not None:
        if not layer.trainable:  # It would hide the flags of its parts.
            layer.trainable = True
        layer.token_encoder.trainable = trainable
        layer.encoder.trainable = trainable
    return layer


def _make(cls, saved, arguments, folder):
    """Creates the layer from a saved config and arguments.

    Returns:
        The layer, and whether its mixes are new.
    """
    new_mixes = {
        key: arguments[key]
        for key in _OF_MIXES
        if arguments.get(key) not in (None, saved.get(key))
    }
    try:
        config = _overridden(saved, arguments)
        if new_mixes:
            layer = cls(**_with_new_mixes(config, new_mixes))
        else:
            layer = cls.from_config(config)
        build_layer(layer)
    except Exception as error:
        if arguments:
            _make(cls, saved, {}, folder)
            raise  # The arguments are wrong: without them it works.
        # A corrupt config may contain anything.
        raise ValueError(
            f"The config of the preset '{folder}' is not that of a layer: "
            f"{error}"
        ) from error
    return layer, bool(new_mixes)


def _overridden(saved, arguments):
    """The saved config, updated by the arguments except those of mixes."""
    config = copy.deepcopy(saved)
    parts = [config["token_encoder"], config["encoder"], *config["scalar_mix"]]
    for key, value in arguments.items():
        if key == "dtype" and value is None:
            continue  # The saved one.
        if key == "dtype":
            for part in parts:
                _set_dtype(part, value)
        if key == "stateful":
            config["encoder"]["config"]["stateful"] = value
        elif key not in _OF_MIXES:
            config[key] = value
    return config


def _set_dtype(layer, dtype):
    """Sets the dtype of a serialized layer and of the layers in it."""
    layer["config"]["dtype"] = dtype
    for part in layer["config"].values():
        if isinstance(part, dict) and "dtype" in part.get("config", ()):
            _set_dtype(part, dtype)


def _with_new_mixes(config, arguments):
    """The constructor's arguments, for the saved biLM with new mixes."""
    deserialize = keras.saving.deserialize_keras_object
    not_kept = ("scalar_mix", "return_all_layers", "trainable_parts")
    mixes = config["scalar_mix"]
    config = {k: v for k, v in config.items() if k not in not_kept}
    for part in ("token_encoder", "encoder"):
        config[part] = deserialize(config[part])
    if arguments.get("return_all_layers"):
        del config["num_representations"]
    elif mixes:
        config["scalar_mix"] = deserialize(mixes[0])
    return config | arguments


def _check_all_named(layer, names):
    named = {id(find_variable(layer, name)) for name in names}
    # Integer tables can be recreated from the config.
    others = [
        variable.path
        for variable in layer.weights
        if id(variable) not in named and "float" in variable.dtype
    ]
    if others:
        raise ValueError(
            f"Layer '{layer.name}' must only have the weights of an "
            "`ElmoLayer`; to save others, use Keras' own `.keras` files. "
            f"Received: {others}"
        )


def _without_build(config):
    # Parts that are built separately have variables with other paths.
    if isinstance(config, dict):
        return {
            key: _without_build(value)
            for key, value in config.items()
            if key != "build_config"
        }
    if isinstance(config, (list, tuple)):
        return [_without_build(item) for item in config]
    return config
