"""Finds the model of a name, a path or a URL."""

import fnmatch
import os
import posixpath
import zipfile

from keras_elmo.checks import argument_name
from keras_elmo.checks import did_you_mean
from keras_elmo.files.fetch import fetch
from keras_elmo.files.model_folder import open_folder
from keras_elmo.formats.bilm_names import OPTIONS
from keras_elmo.formats.bilm_names import TRAINING
from keras_elmo.formats.many_langs import CHARACTERS
from keras_elmo.formats.many_langs import STATE_DICTS
from keras_elmo.formats.preset_files import PRESET_FILES
from keras_elmo.models.bilm import FoundBilm
from keras_elmo.models.found_model import FoundModel
from keras_elmo.models.keras_file import KerasFile
from keras_elmo.models.many_langs import FoundManyLangs
from keras_elmo.models.preset_folder import PresetFolder
from keras_elmo.models.presets import PRESETS
from keras_elmo.models.presets import TAGGERS
from keras_elmo.models.presets import download_preset


def find_model(model, weights=None, names=PRESETS) -> FoundModel:
    """Finds a trained model and determines its kind.

    Args:
        model: A name from `PRESETS` or `TAGGERS`, which takes precedence over
            a path; or path or http(s) URL of a model; or
            `hf://user/repository`. A `FoundModel` is returned unchanged.
        weights: Path or URL of the weight file, if `model` is the options file
            of a biLM.
        names: The names that the error lists, as the caller takes no others.
            `None` stands for all.

    Returns:
        A `FoundModel`. Its files are downloaded here, once.

    Raises:
        ValueError: If there is no such model, or its kind is unknown.
        OSError: If a download fails.
    """
    if isinstance(model, FoundModel):
        return model
    is_name = isinstance(model, str) and model in {*PRESETS, *TAGGERS}
    is_path = isinstance(model, (str, os.PathLike)) and not is_name
    path = fetch(model, "model") if is_path else ""
    if weights is not None:
        if is_name or os.path.isdir(path) or zipfile.is_zipfile(path):
            raise ValueError(
                f"{argument_name('weights')} must be left out: it is for "
                "options files, and this model has its own. "
                f"Received: '{weights}' with '{model}'"
            )
        return FoundBilm(path, fetch(weights, "weights"))
    if is_name and model in TAGGERS:
        head, elmo = TAGGERS[model]
        return KerasFile(head, name=model, elmo=find_model(elmo))
    if is_name:
        return _preset(model)
    if path.endswith(".keras") and os.path.isfile(path):
        return KerasFile(path)
    if path.endswith(".onnx") and os.path.isfile(path):
        raise _exported(path, "an ONNX file, which onnxruntime runs")
    if os.path.exists(path):
        folder = open_folder(path)
        return _kind_of(folder)(folder)
    names = sorted({*PRESETS, *TAGGERS} if names is None else names)
    raise ValueError(
        "There is no preset of that name, nor a file or directory. Expected "
        f"one of {names}, or the path or URL of a model. "
        f"Received: {model!r}.{did_you_mean(path, names)}"
    )


def _preset(name):
    """Returns the `FoundBilm` of a preset."""
    try:
        return FoundBilm(download_preset(name), name=name)
    except OSError as error:
        if not os.path.exists(name):
            raise
        raise OSError(
            f"'{name}' is the name of a preset, which takes precedence over a "
            f"path. If you mean the one here, write './{name}'. {error}"
        ) from error


def _kind_of(folder):
    """The kind of model in a folder or a zip, by the names of its files.

    A file typical of one kind, above all `config.json`, may be next to a model
    of another kind, so the most certain signs come first.
    """
    names = list(map(posixpath.basename, folder.names))
    found = set(names)
    if found.issuperset(STATE_DICTS):
        return FoundManyLangs
    if fnmatch.filter(names, f"*{OPTIONS}"):
        return FoundBilm
    # From here on, files may be missing; the kind's reader reports them.
    if found.intersection([*STATE_DICTS, CHARACTERS]):
        return FoundManyLangs
    files = fnmatch.filter(names, "*.keras")
    if PRESET_FILES[2] in found or (PRESET_FILES[0] in found and not files):
        if os.path.isdir(folder.path):
            return PresetFolder
        if found.issuperset(PRESET_FILES):
            # A .keras file has these names, too.
            raise ValueError(
                "A zip of a folder of ElmoLayer.save_to_preset must be unpacked"
                ", and the name of a Keras model must end in '.keras'. "
                f"Received: '{folder.path}'"
            )
        return FoundBilm
    if any(fnmatch.filter(names, x) for x in ("*.hdf5", "*.index", TRAINING)):
        return FoundBilm
    if len(files) == 1 and os.path.isdir(folder.path):
        return lambda folder: KerasFile(folder.file(files[0]))
    if "saved_model.pb" in found:
        kind = "a SavedModel, which TensorFlow Serving and tf.saved_model.load"
        raise _exported(folder.path, f"{kind} take")
    raise ValueError(
        f"'{folder.path}' holds no model: expected options.json with an .hdf5 "
        "file, one .keras file, or the files of ELMoForManyLangs or "
        f"ElmoLayer.save_to_preset. Received: {sorted(names)[:10]}"
    )


def _exported(path, kind):
    """Returns the error for a file or folder that was exported."""
    return ValueError(
        "An exported model cannot be loaded here. Expected the model from "
        f"which it was exported. Received: '{path}', {kind}"
    )
