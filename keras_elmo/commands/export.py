"""The command `keras-elmo export`."""

import os
import zipfile

import keras

from keras_elmo.commands.export_summary import print_summary
from keras_elmo.formats.keras_files import check_keras_file
from keras_elmo.formats.many_langs import is_many_langs
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.serving import export_saved_model
from keras_elmo.serving.version_folders import version_folder
from keras_elmo.text.corpora import listed_lines


def run(arguments):
    """Runs `keras-elmo export`."""
    _check(arguments)
    labels = _read_labels(arguments.labels)
    folder = export_saved_model(
        _load(arguments.model, arguments.weights, arguments.dtype),
        arguments.folder,
        serving_default=arguments.serving_default,
        labels=labels,
        version=arguments.version,
        overwrite=arguments.overwrite,
    )
    print_summary(folder)


def _check(arguments):
    """What can be told before a model is loaded."""
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            "A SavedModel is TensorFlow's: export with Keras' backend "
            f"tensorflow. Received: {keras.backend.backend()}"
        )
    if arguments.overwrite and arguments.version is None:
        raise ValueError(
            "--overwrite replaces one version: say which by --version N."
        )
    version_folder(arguments.folder, arguments.version, arguments.overwrite)


def _read_labels(pairs):
    """Returns a dictionary from the outputs' names to the labels'."""
    labels = {}
    for name, path in pairs:
        if name in labels:
            raise ValueError(
                "--labels must be given once for each output. "
                f"Received: '{name}' twice"
            )
        labels[name] = list(listed_lines(path))
        if b"" in labels[name]:
            raise ValueError(
                f"--labels must be files of one name a line. Received: '{path}'"
                f", line {labels[name].index(b'') + 1} of which is empty"
            )
    return labels


def _load(model, weights, dtype):
    options = {"dtype": dtype} if dtype else {}
    if not model.endswith(".keras"):
        if not weights and is_many_langs(model):
            return ElmoLayer.from_many_langs(model, **options)
        if weights or os.path.isfile(model):
            return ElmoLayer.from_bilm(model, weights, **options)
        return ElmoLayer.from_preset(model, **options)
    for option, value in (("--weights", weights), ("--dtype", dtype)):
        if value:
            raise ValueError(
                f"{option} must be left out: a .keras file has its own. "
                f"Received: '{value}' with '{model}'"
            )
    if zipfile.is_zipfile(model):  # Keras says what is wrong with others.
        check_keras_file(model)
    try:
        return keras.saving.load_model(model, compile=False)
    except TypeError as error:  # A class that is not registered.
        raise ValueError(
            f"MODEL must be made of layers of Keras and keras_elmo: for layers "
            "of your own, call `keras_elmo.export_saved_model` where they are "
            f"imported. Received: '{model}'. {error}"
        ) from error
    except Exception as error:  # Keras raises errors of every kind.
        raise ValueError(
            f"MODEL cannot be loaded: '{model}'. The error was: {error}"
        ) from error
