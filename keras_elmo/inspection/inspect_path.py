"""What a path leads to."""

import os
import tarfile
import zipfile
import zlib

from keras_elmo.files.fetch import fetch
from keras_elmo.inspection.archive import inspect_archive
from keras_elmo.inspection.bilm_model import add_options
from keras_elmo.inspection.bilm_model import add_weights
from keras_elmo.inspection.damage import GZIP
from keras_elmo.inspection.damage import HDF5
from keras_elmo.inspection.damage import ZIP
from keras_elmo.inspection.damage import first_bytes
from keras_elmo.inspection.damage import tell_damage
from keras_elmo.inspection.finding import Finding
from keras_elmo.inspection.finding import size_of
from keras_elmo.inspection.finding import unreadable
from keras_elmo.inspection.folder import inspect_folder
from keras_elmo.inspection.hdf5_file import add_bilm_uses
from keras_elmo.inspection.hdf5_file import inspect_hdf5
from keras_elmo.inspection.text_file import inspect_json
from keras_elmo.inspection.text_file import inspect_text
from keras_elmo.models.presets import PRESETS


def inspect_path(
    path: str | os.PathLike, weights: str | os.PathLike | None = None
) -> Finding:
    """Tells what a file or a folder is, and what is wrong with it.

    Args:
        path: Path of any file or folder, `hf://user/repository`, or the name
            of a model in the package.
        weights: Path of a weight file, if `path` is its options file.

    Returns:
        A `Finding`. Whatever is wrong is in it: nothing is raised.
    """
    path = os.fspath(path)
    try:
        if weights is not None:
            return _inspect_pair(path, os.fspath(weights))
        if path in PRESETS and not os.path.exists(path):
            return _inspect_preset(path)
        return _inspect(fetch(path, "path"))
    except Exception as error:  # Nothing is too strange to be inspected.
        return unreadable(
            path,
            "a file or folder that cannot be read",
            f"{type(error).__name__}: {error}",
        )


def _inspect(path):
    if os.path.isdir(path):
        return inspect_folder(path)
    if not os.path.exists(path):
        return unreadable(
            path,
            "neither a file nor a folder",
            "There is no such file or folder, and no model of that name in "
            f"the package. The models' names are {sorted(PRESETS)}.",
        )
    damage = tell_damage(path)
    if damage is not None:
        return unreadable(path, "no good file", f"It {damage}.")
    start = first_bytes(path)
    if start.startswith(HDF5):
        return inspect_hdf5(path)
    if zipfile.is_zipfile(path):
        return inspect_archive(path)
    if start.startswith(ZIP):
        problem = f"It is cut off or damaged, {size_of(os.path.getsize(path))}."
        return unreadable(path, "a zip file", f"{problem} Download it again.")
    if start.startswith(GZIP) and _is_tar(path):
        problem = f"Unpack it first: tar xzf {path}"
        return unreadable(path, "a .tar.gz archive", problem)
    part_of = _part_of(os.path.basename(path))
    if part_of is not None:
        return Finding(
            path,
            f"a part of {part_of}",
            {"size": size_of(os.path.getsize(path))},
            ["Inspect its folder."],
        )
    if path.endswith(".json") or start.lstrip()[:1] == b"{":
        return inspect_json(path)
    return inspect_text(path)


def _is_tar(path):
    try:
        return tarfile.is_tarfile(path)
    except (EOFError, zlib.error):  # A gzip file that is cut off.
        return False


def _part_of(name):
    if name.endswith((".index", ".meta")) or ".data-0" in name:
        return "a TensorFlow checkpoint"
    if name in ("char.dic", "word.dic", "encoder.pkl", "token_embedder.pkl"):
        return "a model of ELMoForManyLangs"
    return "a SavedModel" if name.endswith(".pb") else None


def _inspect_preset(name):
    preset = PRESETS[name]
    if preset.path is not None:
        finding = inspect_folder(preset.path)
        finding.loader = ("from_preset", name)
        finding.uses = [
            use.replace(preset.path, name).replace("from_bilm", "from_preset")
            for use in finding.uses
        ]
        finding.facts = {
            "name": name,
            "licence": preset.licence,
        } | finding.facts
        return finding
    return Finding(
        name,
        "the name of a model that is downloaded once",
        {
            "description": preset.description,
            "licence": preset.licence,
            "options": preset.options_url,
            "weights": f"{preset.weights_url}, {preset.megabytes} MB",
        },
        [f'keras_elmo.ElmoLayer.from_preset("{name}")'],
        loader=("from_preset", name),
    )


def _inspect_pair(options, weights):
    finding = Finding(options, "a biLM as bilm-tf and AllenNLP have it")
    options, weights = fetch(options, "path"), fetch(weights, "weights")
    add_weights(finding, weights, add_options(finding, options))
    add_bilm_uses(finding, options, weights)
    return finding
