"""What a model's files are: names, shapes and numbers, and no layers."""

from keras_elmo.formats.bilm_arrays import read_arrays
from keras_elmo.formats.bilm_arrays import write_arrays
from keras_elmo.formats.bilm_files import open_bilm
from keras_elmo.formats.bilm_options import make_options
from keras_elmo.formats.bilm_options import parse_options
from keras_elmo.formats.presets import PRESETS
from keras_elmo.formats.presets import Preset
from keras_elmo.formats.presets import download_preset

__all__ = [
    "PRESETS",
    "Preset",
    "download_preset",
    "make_options",
    "open_bilm",
    "parse_options",
    "read_arrays",
    "write_arrays",
]
