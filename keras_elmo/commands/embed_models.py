"""The kinds of models that `keras-elmo embed` takes.

What is told of a model before it is loaded: a job that is done need not load
it.
"""

import os

import keras

from keras_elmo import formats
from keras_elmo.formats.fingerprint import bilm_fingerprint
from keras_elmo.formats.fingerprint import files_fingerprint
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.layers.lexicon_embedding import LexiconEmbedding
from keras_elmo.text.character_vectorization import CharacterVectorization
from keras_elmo.text.vectorization_of import vectorization_of


def find_model(path, weights=None):
    """Returns the model of a path, or of the paths of its two files.

    It has three methods: `vectorization()`, `fingerprint()` and `load(dtype)`,
    which returns the `ElmoLayer`.
    """
    if weights is None and formats.is_many_langs(path):
        return _ManyLangs(path)
    if weights is None and _is_preset_folder(path):
        return _PresetFolder(path)
    return _Bilm(path, weights)


def _is_preset_folder(path):
    # A biLM's folder may hold a `config.json` of something else.
    has_options = os.path.exists(os.path.join(path, "options.json"))
    return formats.is_preset_folder(path) and not has_options


class _Bilm:
    def __init__(self, options, weights):
        self._paths = (options, weights)

    def vectorization(self):
        with formats.open_bilm(*self._paths) as files:
            token_encoder, _ = formats.parse_options(files.read_options())
        return CharacterVectorization(token_encoder["max_characters_per_token"])

    def fingerprint(self):
        return bilm_fingerprint(*self._paths)

    def load(self, dtype):
        return ElmoLayer.from_bilm(*self._paths, dtype=dtype)


class _ManyLangs:
    def __init__(self, path):
        self._path = path

    def vectorization(self):
        with formats.open_many_langs(self._path) as files:
            return LexiconEmbedding(**files.token_encoder).make_vectorization()

    def fingerprint(self):
        if os.path.isfile(self._path):
            return files_fingerprint(*_split(self._path))
        kinds = (".json", ".dic", ".pkl")
        names = [n for n in os.listdir(self._path) if n.endswith(kinds)]
        return files_fingerprint(self._path, names)

    def load(self, dtype):
        return ElmoLayer.from_many_langs(self._path, dtype=dtype)


class _PresetFolder:
    def __init__(self, path):
        self._path = path

    def vectorization(self):
        config = formats.read_preset_config(self._path, ElmoLayer)
        return vectorization_of(
            keras.saving.deserialize_keras_object(config["token_encoder"])
        )

    def fingerprint(self):
        # Without the date that is in the metadata.
        names = [n for n in formats.PRESET_FILES if n != "metadata.json"]
        return files_fingerprint(self._path, names)

    def load(self, dtype):
        return ElmoLayer.from_preset(self._path, dtype=dtype, stateful=False)


def _split(path):
    folder, name = os.path.split(path)
    return folder, [name]
