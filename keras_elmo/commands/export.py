"""The command `keras-elmo export`."""

import keras

from keras_elmo.commands.export_summary import print_summary
from keras_elmo.models.find_model import find_model
from keras_elmo.serving import export_saved_model
from keras_elmo.serving.version_folders import version_folder
from keras_elmo.text.corpora import listed_lines


def run(arguments):
    """Runs `keras-elmo export`."""
    _check(arguments)
    labels = _read_labels(arguments.labels)
    model = find_model(arguments.model, arguments.weights)
    folder = export_saved_model(
        model.load_for_export(arguments.dtype),
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
