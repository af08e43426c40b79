"""Reports what a path is: a model for `find_model`, or something else."""

import os
import posixpath
import zipfile

from keras_elmo.files.archives import member_names
from keras_elmo.files.archives import open_archive
from keras_elmo.files.fetch import fetch
from keras_elmo.files.mistaken_files import describe_mistaken
from keras_elmo.formats.bilm_names import is_training_without_model
from keras_elmo.formats.many_langs import CHARACTERS
from keras_elmo.formats.many_langs import STATE_DICTS
from keras_elmo.formats.many_langs import WORDS
from keras_elmo.inspection.inspection import Inspection
from keras_elmo.inspection.other_files import inspect_corpus_archive
from keras_elmo.inspection.other_files import inspect_hdf5
from keras_elmo.inspection.other_files import inspect_text
from keras_elmo.inspection.saved_model import inspect_saved_model
from keras_elmo.models.find_model import find_model
from keras_elmo.models.presets import PRESETS

_HDF5, _ZIP, _GZIP = b"\x89HDF\r\n\x1a\n", b"PK\x03\x04", b"\x1f\x8b"
_CONTINUE = "Run the training command again: it resumes from its checkpoint."


def inspect_path(
    path: str | os.PathLike, weights: str | os.PathLike | None = None
) -> Inspection:
    """Reports what a file or a folder is, and what is wrong with it.

    Args:
        path: Path or URL of any file or folder, `hf://user/repository`, or the
            name of a preset.
        weights: Path of a weight file, if `path` is its options file.

    Returns:
        An `Inspection`, which includes all problems: no errors are raised.
    """
    inspection = Inspection(os.fspath(path))
    try:
        _inspect(inspection, weights)
    except (ValueError, OSError) as error:
        inspection.problems.append(str(error))
    except Exception as error:  # Any file can be inspected.
        inspection.problems.append(f"{type(error).__name__}: {error}")
    return inspection


def _inspect(inspection, weights):
    path = inspection.path
    if weights is not None:
        _inspect_model(inspection, path, os.fspath(weights))
    elif path in PRESETS:
        _inspect_preset(inspection, PRESETS[path])
    else:
        path = fetch(path, "path")
        if os.path.isdir(path):
            _inspect_folder(inspection, path)
        elif os.path.isfile(path):
            _inspect_file(inspection, path)
        else:
            find_model(path)  # Raises an error that lists the presets.


def _inspect_model(inspection, *paths):
    model = find_model(*paths)
    inspection.what = model.what
    for name, value in model.facts():
        inspection.facts[name] = value
    inspection.uses += model.uses()
    inspection.model = paths


def _inspect_preset(inspection, preset):
    inspection.facts |= {"name": inspection.path, "licence": preset.licence}
    if preset.path is not None:
        _inspect_model(inspection, inspection.path)
        return
    inspection.what = "the name of a model that is downloaded once"
    inspection.facts |= {
        "description": preset.description,
        "options": preset.options_url,
        "weights": f"{preset.weights_url}, {preset.megabytes} MB",
    }
    inspection.uses = [f'keras_elmo.ElmoLayer.from_preset("{inspection.path}")']
    inspection.model = (inspection.path,)


def _inspect_folder(inspection, path):
    names = os.listdir(path)
    inspection.what = "a folder"
    inspection.facts["size"] = _size_of(
        sum(
            os.lstat(os.path.join(place, name)).st_size  # Of a link, its own.
            for place, _, files in os.walk(path)
            for name in files
        )
    )
    versions = [n for n in names if n.isdecimal() and _is_folder(path, n)]
    versions.sort(key=int)
    last = os.path.join(path, versions[-1]) if versions else path
    if {"saved_model.pb", "tfhub_module.pb"} & set(os.listdir(last)):
        inspect_saved_model(inspection, last)
        if versions:
            inspection.facts["versions"] = ", ".join(versions)
            inspection.what = (
                f"a folder of versions; the last is {inspection.what}"
            )
    elif is_training_without_model(names):
        inspection.what = (
            "the folder of a training run of keras-elmo pretrain, without a "
            "model so far"
        )
        inspection.uses = [_CONTINUE]
    else:
        _inspect_model(inspection, path)
        if "training.json" in names:
            inspection.what = (
                "the folder of a training run of keras-elmo pretrain, with its "
                "biLM"
            )
            inspection.uses.append(_CONTINUE)


def _inspect_file(inspection, path):
    with open(path, "rb") as file:
        start = file.read(4096)
    inspection.what = "a file"
    inspection.facts["size"] = _size_of(os.path.getsize(path))
    mistaken = describe_mistaken(start)
    if mistaken is not None:
        raise ValueError(f"It is not what its name says: {mistaken}.")
    part_of = _part_of(os.path.basename(path))
    if part_of is not None:
        inspection.what = f"a part of {part_of}"
        inspection.uses = ["Inspect its folder."]
    elif start.startswith(_HDF5) or path.endswith((".hdf5", ".h5")):
        inspection.what = "an HDF5 file"
        _inspect_hdf5(inspection, path)
    elif start.startswith(_ZIP):
        inspection.what = "a zip file"
        _inspect_zip(inspection, path)
    elif start.startswith(_GZIP) and path.endswith((".tar.gz", ".tgz")):
        inspection.what = "a .tar.gz archive"
        raise ValueError(f"Unpack it first: tar xzf {path}")
    else:
        inspect_text(inspection, path)


def _part_of(name):
    if name.endswith((".index", ".meta")) or ".data-0" in name:
        return "a TensorFlow checkpoint"
    if name in (CHARACTERS, WORDS, *STATE_DICTS):
        return "a model of ELMoForManyLangs"
    return "a SavedModel" if name.endswith(".pb") else None


def _inspect_hdf5(inspection, path):
    if not inspect_hdf5(inspection, path):
        return
    # It belongs to a biLM, whose options should be next to it.
    folder, name = os.path.split(path)
    prefix = name[: name.rfind("weights")] if "weights" in name else ""
    names = dict.fromkeys((f"{prefix}options.json", "options.json"))
    for options in (os.path.join(folder, n) for n in names):
        if os.path.isfile(options):
            inspection.facts["options"] = os.path.basename(options)
            _inspect_model(inspection, options, path)
            return
    raise ValueError(
        f"The options file is missing: expected {' or '.join(names)} in "
        f"'{os.path.abspath(folder)}'. The weights cannot be loaded without it."
    )


def _inspect_zip(inspection, path):
    is_zip = zipfile.is_zipfile(path)
    if is_zip and not path.endswith(".keras"):
        with open_archive(path) as archive:
            names = member_names(archive, path)
        if names and all(posixpath.splitext(n)[1] == ".npy" for n in names):
            inspect_corpus_archive(inspection, path, names)
            return
    _inspect_model(inspection, path)


def _is_folder(path, name):
    return os.path.isdir(os.path.join(path, name))


def _size_of(number):
    """Formats a number of bytes."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            return f"{number / size:,.1f} {unit}"
    return f"{number:,} bytes"
