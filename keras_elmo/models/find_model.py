"""The kinds of models that `keras-elmo embed` takes.

What is told of a model before it is loaded: a job that is done need not load
it.
"""

import os

import keras

from keras_elmo.files.fetch import fetch
from keras_elmo.formats.bilm_files import open_bilm
from keras_elmo.formats.many_langs import is_many_langs
from keras_elmo.formats.many_langs import open_many_langs
from keras_elmo.formats.preset_files import PRESET_FILES
from keras_elmo.formats.preset_files import is_preset_folder
from keras_elmo.formats.preset_files import read_preset_config
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.layers.lexicon_embedding import LexiconEmbedding
from keras_elmo.models.bilm import load_bilm
from keras_elmo.models.fingerprint import bilm_fingerprint
from keras_elmo.models.fingerprint import file_digest
from keras_elmo.models.fingerprint import files_fingerprint
from keras_elmo.models.many_langs import load_many_langs
from keras_elmo.models.preset_folder import load_preset_folder
from keras_elmo.models.presets import PRESETS
from keras_elmo.models.presets import download_preset
from keras_elmo.text.character_vectorization import CharacterVectorization
from keras_elmo.text.known_word_vectorization import KnownWordVectorization
from keras_elmo.text.vectorization_of import vectorization_of
from keras_elmo.text.vocabulary import vocabulary_words


def find_model(path, weights=None, **words):
    """Returns the model of a path, or of the paths of its two files.

    It has three methods: `vectorization()`, which is `None` if no word is too
    long; `fingerprint()`, of all files but those of `words`; and `load(dtype)`,
    which returns the `ElmoLayer`.

    Args:
        path: Path or URL of a model, or of its options file.
        weights: Path of the weight file, if `path` is that of the options.
        **words: Paths, `token_embeddings` and `vocabulary`, as for
            `ElmoLayer.from_bilm`.
    """
    # Once, as a model of the hub may change from one look to the next.
    path = fetch(path, "model")
    for is_kind, kind in (
        (is_many_langs, _ManyLangs),
        (_is_preset_folder, _PresetFolder),
    ):
        if weights is None and is_kind(path):
            if words:
                raise ValueError(
                    f"{' and '.join(sorted(words))} go with the files of a "
                    f"bilm-tf model. Received: '{path}', which has its own"
                )
            return kind(path)
    return _Bilm(path, weights, words)


def load_preset(cls, preset, **kwargs):
    """Makes an `ElmoLayer` of class `cls`; see `ElmoLayer.from_preset`."""
    is_name = isinstance(preset, str) and preset in PRESETS
    is_path = isinstance(preset, (str, os.PathLike))
    path = fetch(preset, "preset") if is_path else ""
    if is_name or not os.path.exists(path):
        return load_bilm(cls, *download_preset(preset), **kwargs)
    if is_many_langs(path):
        return load_many_langs(cls, path, **kwargs)
    if is_preset_folder(path):
        return load_preset_folder(cls, path, **kwargs)
    return load_bilm(cls, path, **kwargs)


def _is_preset_folder(path):
    # A biLM's folder may hold a `config.json` of something else.
    has_options = os.path.exists(os.path.join(path, "options.json"))
    return is_preset_folder(path) and not has_options


class _Bilm:
    def __init__(self, options, weights, words):
        self._paths = (options, weights)
        self._words = words

    def vectorization(self):
        with open_bilm(*self._paths) as files:
            options = files.options
        if options.is_word_input:
            return None  # Nothing is cropped.
        width = options.token_encoder["max_characters_per_token"]
        if len(self._words) == 2:
            words = vocabulary_words(self._words["vocabulary"])
            return KnownWordVectorization(words, width)
        return CharacterVectorization(width)

    def fingerprint(self):
        return bilm_fingerprint(*self._paths)

    def load(self, dtype):
        return ElmoLayer.from_bilm(*self._paths, **self._words, dtype=dtype)


class _ManyLangs:
    def __init__(self, path):
        self._path = path

    def vectorization(self):
        with open_many_langs(self._path) as files:
            return LexiconEmbedding(**files.token_encoder).make_vectorization()

    def fingerprint(self):
        if os.path.isfile(self._path):
            return file_digest(self._path)
        with open_many_langs(self._path) as files:
            said = [files.token_encoder, files.encoder]
        names = [n for n in os.listdir(self._path) if n.endswith(".pkl")]
        return files_fingerprint(self._path, names, said)

    def load(self, dtype):
        return ElmoLayer.from_many_langs(self._path, dtype=dtype)


class _PresetFolder:
    def __init__(self, path):
        self._path = path

    def vectorization(self):
        config = read_preset_config(self._path, "keras_elmo>ElmoLayer")
        return vectorization_of(
            keras.saving.deserialize_keras_object(config["token_encoder"])
        )

    def fingerprint(self):
        # Without the date that is in the metadata.
        names = [n for n in PRESET_FILES if n != "metadata.json"]
        return files_fingerprint(self._path, names)

    def load(self, dtype):
        return ElmoLayer.from_preset(self._path, dtype=dtype, stateful=False)
