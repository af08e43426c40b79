"""Zip files: models, `.keras` files, `.npz` files, PyTorch's pickles."""

import json
import os
import posixpath
import tempfile

from keras_elmo.files.archives import member_names
from keras_elmo.files.archives import open_archive
from keras_elmo.files.archives import read_member
from keras_elmo.formats.archived_bilm import extract_model
from keras_elmo.formats.keras_files import check_keras_file
from keras_elmo.formats.many_langs import NEEDED_FILES as MANY_LANGS
from keras_elmo.inspection.finding import Finding
from keras_elmo.inspection.finding import size_of
from keras_elmo.inspection.finding import unreadable
from keras_elmo.inspection.folder import inspect_folder

_KERAS = {"config.json", "metadata.json", "model.weights.h5"}
_MARKS = ("encoder.pkl", "char.dic", "config.json")


def inspect_archive(path):
    """Returns the `Finding` of a zip file."""
    size = {"size": size_of(os.path.getsize(path))}
    try:
        with open_archive(path) as archive:
            names = member_names(archive, path)
            if set(names) >= _KERAS:
                return _keras_file(path, archive, size)
            if any(n.endswith("/data.pkl") for n in names):
                return _pickle(path, size)
            if names and all(n.endswith(".npy") for n in names):
                return _npz(path, names, size)
            root = _root(names)
            if root is None:
                return _unknown(path, names, size)
            with tempfile.TemporaryDirectory() as folder:
                extract_model(archive, root, folder, path)
                finding = inspect_folder(folder, is_unpacked=True)
                return _as_archive(finding, folder, path)
    except ValueError as error:
        return unreadable(path, "a zip file", str(error))


def _root(names):
    """The folder in the archive where a model lies; `None` without."""
    for is_mark in (
        lambda n: n.endswith("options.json"),
        lambda n: n in _MARKS,
        lambda n: n.endswith(".hdf5"),
    ):
        for name in sorted(names):
            if is_mark(posixpath.basename(name)):
                return posixpath.dirname(name)
    return None


def _as_archive(finding, folder, path):
    """The finding of a folder that was unpacked from an archive."""

    def renamed(text):
        return text.replace(folder, path)

    finding.path = path
    finding.what = f"a zip file: {finding.what}"
    finding.uses = [renamed(use) for use in finding.uses]
    finding.problems = [renamed(problem) for problem in finding.problems]
    finding.facts["size"] = size_of(os.path.getsize(path))
    finding.loader = tuple(map(renamed, finding.loader))
    return finding


def _keras_file(path, archive, size):
    finding = Finding(path, "a .keras file", size)
    text = read_member(archive, "config.json", path).decode("utf-8", "replace")
    try:
        config = json.loads(text)
        finding.facts["class"] = str(config.get("class_name"))
    except (ValueError, AttributeError) as error:
        finding.problems.append(f"Its config.json is damaged: {error}")
        return finding
    if "keras_elmo>ElmoLayer" in text:
        finding.what = "a .keras file: a Keras model with an ElmoLayer in it"
        finding.uses += [
            f'import keras_elmo; keras.saving.load_model("{path}")',
            f"keras-elmo export {path} served/model",
        ]
    else:
        finding.uses.append(f'keras.saving.load_model("{path}")')
    try:
        check_keras_file(path)
    except ValueError as error:
        finding.problems.append(str(error))
    if not path.endswith(".keras"):
        finding.problems.append("Keras loads it if its name ends in .keras.")
    return finding


def _npz(path, names, size):
    number = sum(n.removesuffix(".npy").isdecimal() for n in names)
    if not number:
        return Finding(
            path, "arrays of NumPy", {"arrays": ", ".join(names[:8]), **size}
        )
    return Finding(
        path,
        "the embeddings of a corpus, as keras-elmo embed writes them",
        {"sentences": f"{number:,}", **size},
        [f'numpy.load("{path}")["0"]'],
    )


def _pickle(path, size):
    finding = Finding(path, "a PyTorch file", size)
    if os.path.basename(path) in MANY_LANGS:
        finding.what = "a part of a model of ELMoForManyLangs"
        finding.uses.append("Inspect its folder.")
    else:
        finding.problems.append("It is nothing that this package reads.")
    return finding


def _unknown(path, names, size):
    shown = ", ".join(sorted(names)[:10]) or "nothing"
    finding = Finding(path, "a zip file", {"holds": shown, **size})
    if any(n.endswith("saved_model.pb") for n in names):
        finding.what = "a zip file with a SavedModel"
        finding.uses.append("Unpack it, and inspect the folder.")
    else:
        finding.problems.append("It holds no model that this package knows.")
    return finding
