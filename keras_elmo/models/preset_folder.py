import datetime

import keras

from keras_elmo.checks import check_built
from keras_elmo.files.atomic import refuse_other_files
from keras_elmo.files.atomic import write_folder_atomically
from keras_elmo.formats.bilm_variables import variable_shapes
from keras_elmo.formats.preset_files import PRESET_FILES
from keras_elmo.formats.preset_files import checked_layer
from keras_elmo.formats.preset_files import read_config
from keras_elmo.formats.preset_files import read_preset_arrays
from keras_elmo.formats.preset_files import write_preset
from keras_elmo.models.fingerprint import fingerprint
from keras_elmo.models.found_model import FoundModel
from keras_elmo.models.found_model import parameter_fact
from keras_elmo.models.found_model import size_facts
from keras_elmo.models.variables import build_with_arrays
from keras_elmo.models.variables import find_variable
from keras_elmo.models.variables import variable_arrays

_OF_MIXES = ("num_representations", "return_all_layers", "scalar_mix")


class PresetFolder(FoundModel):
    """A folder of `ElmoLayer.save_to_preset`."""

    what = "a folder of ElmoLayer.save_to_preset"

    def load(self, cls, *, trainable=None, **kwargs):
        for argument in ("token_encoder", "encoder"):
            if argument in kwargs:
                raise ValueError(
                    f"`{argument}` must be left out: the preset has its own. "
                    f"Received: {argument}={kwargs[argument]!r}"
                )
        layer = _saved_layer(cls, self.path)
        arrays = read_preset_arrays(self.path, _shapes(layer))
        layer, has_new_mixes = _override(layer, kwargs)
        if has_new_mixes:
            arrays = {
                k: a for k, a in arrays.items() if "scalar_mixes" not in k
            }
        build_with_arrays(layer, arrays)
        if trainable is not None:
            if not layer.trainable:  # It would hide the flags of its parts.
                layer.trainable = True
            layer.token_encoder.trainable = trainable
            layer.encoder.trainable = trainable
        return layer

    def fingerprint(self):
        # Without the metadata, which contain a date.
        names = [n for n in PRESET_FILES if n != "metadata.json"]
        return fingerprint(None, [f"{self.path}/{name}" for name in names])

    def facts(self, cls):
        layer = _saved_layer(cls, self.path)
        parts = layer.token_encoder, layer.encoder
        yield from size_facts(*(part.get_config() for part in parts))
        yield parameter_fact(read_preset_arrays(self.path, _shapes(layer)))


def save_to_preset(layer, folder, overwrite=False):
    """Writes a built layer; see `ElmoLayer.save_to_preset`."""
    write = preset_writer(layer)
    refuse_other_files(folder, PRESET_FILES)
    write_folder_atomically(folder, write, PRESET_FILES, overwrite)


def preset_writer(layer):
    """Returns the function that writes a built layer's `PRESET_FILES`.

    It takes the path of an existing folder.

    Raises:
        ValueError: As for `ElmoLayer.save_to_preset`.
    """
    from keras_elmo import __version__

    check_built(layer)
    try:
        saved = checked_layer(keras.saving.serialize_keras_object(layer))
    except ValueError as error:
        raise ValueError(
            f"Layer '{layer.name}' cannot be saved to a preset, which holds "
            f"only the layers of keras_elmo: {error} "
            "Keras' own `.keras` files hold any layer."
        ) from error
    names = _shapes(layer)
    named = {id(find_variable(layer, name)) for name in names}
    others = [v.path for v in layer.weights if id(v) not in named]
    if others:
        raise ValueError(
            f"Layer '{layer.name}' must only have the weights of an "
            "`ElmoLayer`; to save others, use Keras' own `.keras` files. "
            f"Received: {others}"
        )
    metadata = {
        "keras_version": keras.__version__,
        "keras_elmo_version": __version__,
        "parameter_count": layer.count_params(),
        "date_saved": datetime.datetime.now().strftime("%Y-%m-%d@%H:%M:%S"),
    }

    def write(path):
        write_preset(path, saved, metadata, variable_arrays(layer, names))

    return write


def _saved_layer(cls, folder):
    """Creates the layer of a folder, without weights."""
    # A subclass takes what its base classes saved, too.
    names = [*map(keras.saving.get_registered_name, cls.__mro__)]
    end = names.index("keras_elmo>ElmoLayer") + 1
    config = read_config(folder, names[:end])
    try:
        return cls.from_config(config)
    except Exception as error:
        # A corrupt config may contain anything.
        cause = error
        while cause.__context__ is not None:  # Keras prints the whole config.
            cause = cause.__context__
        raise ValueError(
            f"The config of the preset '{folder}' is not that of a layer: "
            f"{cause}"
        ) from error


def _shapes(layer):
    return variable_shapes(
        layer.token_encoder.get_config(),
        layer.encoder.get_config(),
        [mix.fixed_weights for mix in layer.scalar_mixes],
    )


def _override(layer, arguments):
    """Changes arguments of an unbuilt layer.

    Returns:
        The layer or another one, and whether its mixes are new.
    """
    dtype = arguments.pop("dtype", None)
    config = layer.get_config()
    mixes = {key: arguments.pop(key, None) for key in _OF_MIXES}
    mixes = {k: v for k, v in mixes.items() if v not in (None, config[k])}
    if mixes:
        for key in ("scalar_mix", "return_all_layers", "trainable_parts"):
            config.pop(key, None)
        config["token_encoder"] = layer.token_encoder
        config["encoder"] = layer.encoder
        if mixes.get("return_all_layers"):
            del config["num_representations"]
        elif layer.scalar_mixes:
            config["scalar_mix"] = layer.scalar_mixes[0]
        layer = type(layer)(**config | arguments | mixes)
    elif arguments:
        layer = type(layer).from_config(config | arguments)
    if dtype is not None:
        layer.dtype_policy = keras.dtype_policies.get(dtype)
    return layer, bool(mixes)
