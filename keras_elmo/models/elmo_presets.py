"""An `ElmoLayer` in a folder of its own, with its mixes."""

import copy

import keras

from keras_elmo.files.disk_room import check_room
from keras_elmo.layers.initializers import leave_out_random_values
from keras_elmo.models.preset_folders import load_preset_weights
from keras_elmo.models.preset_folders import read_preset_config
from keras_elmo.models.preset_folders import write_preset_folder

# Of one weight in Keras' file, beside its numbers.
_BYTES_OF_A_NAME = 2048
_OF_MIXES = ("num_representations", "return_all_layers", "scalar_mix")


def save_layer(layer, folder):
    """Writes a built layer; see `ElmoLayer.save_to_preset`."""
    if not layer.built:
        raise ValueError(
            f"Layer '{layer.name}' has no weights yet: call or build it first."
        )

    def save_weights(path):
        # Keras ends the process when a disk becomes full meanwhile.
        names = len(layer.weights) * _BYTES_OF_A_NAME
        check_room(path, 4 * layer.count_params() + names)
        _whole_model(layer).save_weights(path)

    write_preset_folder(folder, layer, save_weights)


def load_layer(cls, folder, trainable=None, **kwargs):
    """Makes the layer of a folder; see `ElmoLayer.from_preset`."""
    for argument in ("token_encoder", "encoder"):
        if argument in kwargs:
            raise ValueError(
                f"`{argument}` must be left out: it is the preset's own. "
                f"Received: {argument}={kwargs[argument]!r}"
            )
    saved = read_preset_config(folder, cls)
    layer = _make(cls, saved, kwargs, folder)
    new_mixes = {
        key: kwargs[key]
        for key in _OF_MIXES
        if kwargs.get(key) not in (None, saved.get(key))
    }
    load_preset_weights(folder, _whole_model(layer).load_weights)
    if new_mixes:
        config = _overridden(saved, kwargs)
        layer = _with_new_mixes(layer, config, new_mixes)
    if trainable is not None:
        layer.token_encoder.trainable = trainable
        layer.encoder.trainable = trainable
    return layer


def _make(cls, saved, arguments, folder):
    """Makes and builds the layer of a saved config and arguments."""
    try:
        with leave_out_random_values():
            layer = cls.from_config(_overridden(saved, arguments))
            _build(layer)
    except Exception as error:
        if arguments:
            _make(cls, saved, {}, folder)
            raise  # Without them it works.
        # A damaged config may say anything at all.
        raise ValueError(
            f"The config of the preset '{folder}' is not that of a layer: "
            f"{error}"
        ) from error
    return layer


def _overridden(saved, arguments):
    """The saved config with the arguments in it, but for those of mixes."""
    config = copy.deepcopy(saved)
    parts = [config["token_encoder"], config["encoder"], *config["scalar_mix"]]
    for key, value in arguments.items():
        if key == "dtype":
            for part in parts:
                part["config"]["dtype"] = value
        if key == "stateful":
            config["encoder"]["config"]["stateful"] = value
        elif key not in _OF_MIXES:
            config[key] = value
    return config


def _with_new_mixes(layer, config, arguments):
    """A layer with the biLM of `layer`, and new mixes, or none."""
    not_kept = ("scalar_mix", "return_all_layers", "trainable_parts")
    config = {k: v for k, v in config.items() if k not in not_kept}
    config["token_encoder"] = layer.token_encoder
    config["encoder"] = layer.encoder
    config["dtype"] = layer.dtype_policy
    if arguments.get("return_all_layers"):
        del config["num_representations"]
    elif layer.scalar_mixes:
        mix = layer.scalar_mixes[0]
        config["scalar_mix"] = type(mix).from_config(mix.get_config())
    layer = type(layer)(**config | arguments)
    _build(layer)
    return layer


def _build(layer):
    layer.build((None, None, *layer.token_encoder.token_shape))


def _whole_model(layer):
    """A model that is the layer and no more: Keras saves models."""
    model = keras.Sequential([layer])
    model.built = True
    return model
