"""What a model's files are: names, shapes and numbers, and no layers."""

import typing

from keras_elmo.lazy_names import lazy_names as _lazy_names

if typing.TYPE_CHECKING:
    from keras_elmo.formats.bilm_arrays import read_arrays
    from keras_elmo.formats.bilm_arrays import write_arrays
    from keras_elmo.formats.bilm_files import fetch
    from keras_elmo.formats.bilm_files import open_bilm
    from keras_elmo.formats.bilm_options import LanguageModelOptions
    from keras_elmo.formats.bilm_options import make_options
    from keras_elmo.formats.bilm_options import parse_language_model_options
    from keras_elmo.formats.language_models import LanguageModelFiles
    from keras_elmo.formats.language_models import open_language_model
    from keras_elmo.formats.language_models import write_softmax
    from keras_elmo.formats.many_langs import is_many_langs
    from keras_elmo.formats.many_langs import open_many_langs
    from keras_elmo.formats.preset_folders import PRESET_FILES
    from keras_elmo.formats.preset_folders import is_preset_folder
    from keras_elmo.formats.preset_folders import load_preset_weights
    from keras_elmo.formats.preset_folders import read_preset_config
    from keras_elmo.formats.preset_folders import write_preset_folder
    from keras_elmo.formats.presets import PRESETS
    from keras_elmo.formats.presets import Preset
    from keras_elmo.formats.presets import download_preset

__all__ = [
    "PRESETS",
    "PRESET_FILES",
    "LanguageModelFiles",
    "LanguageModelOptions",
    "Preset",
    "download_preset",
    "fetch",
    "is_many_langs",
    "is_preset_folder",
    "load_preset_weights",
    "make_options",
    "open_bilm",
    "open_language_model",
    "open_many_langs",
    "parse_language_model_options",
    "read_arrays",
    "read_preset_config",
    "write_arrays",
    "write_preset_folder",
    "write_softmax",
]

_MODULES = {
    "keras_elmo.formats.bilm_arrays": ("read_arrays", "write_arrays"),
    "keras_elmo.formats.bilm_files": ("fetch", "open_bilm"),
    "keras_elmo.formats.bilm_options": (
        "LanguageModelOptions",
        "make_options",
        "parse_language_model_options",
    ),
    "keras_elmo.formats.language_models": (
        "LanguageModelFiles",
        "open_language_model",
        "write_softmax",
    ),
    "keras_elmo.formats.many_langs": ("is_many_langs", "open_many_langs"),
    "keras_elmo.formats.preset_folders": (
        "PRESET_FILES",
        "is_preset_folder",
        "load_preset_weights",
        "read_preset_config",
        "write_preset_folder",
    ),
    "keras_elmo.formats.presets": ("PRESETS", "Preset", "download_preset"),
}

__getattr__, __dir__ = _lazy_names(__name__, _MODULES)
