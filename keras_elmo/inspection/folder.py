"""Folders: models in all the ways in which they are laid out."""

import json
import os

from keras_elmo.files.untrusted_files import read_regular
from keras_elmo.formats.bilm_files import bilm_shapes
from keras_elmo.formats.bilm_names import VOCABULARIES
from keras_elmo.formats.bilm_names import find_options
from keras_elmo.formats.bilm_names import find_weights
from keras_elmo.formats.bilm_names import is_training_without_model
from keras_elmo.formats.many_langs import NEEDED_FILES as MANY_LANGS
from keras_elmo.formats.many_langs import open_many_langs
from keras_elmo.formats.preset_files import PRESET_FILES as _PRESET
from keras_elmo.formats.preset_files import read_preset
from keras_elmo.formats.tensorflow_checkpoints import Checkpoint
from keras_elmo.formats.tensorflow_checkpoints import find_checkpoint
from keras_elmo.formats.tensorflow_checkpoints import holds_checkpoint
from keras_elmo.inspection.bilm_model import add_options
from keras_elmo.inspection.bilm_model import add_weights
from keras_elmo.inspection.damage import tell_damage
from keras_elmo.inspection.finding import Finding
from keras_elmo.inspection.finding import size_of
from keras_elmo.inspection.hdf5_file import add_bilm_uses
from keras_elmo.inspection.saved_model import inspect_saved_model
from keras_elmo.inspection.text_file import add_vocabulary


def inspect_folder(path, is_unpacked=False):
    """Returns the `Finding` of a folder.

    `is_unpacked` says that it is of an archive: nothing outside is looked at.
    """
    names = sorted(os.listdir(path))
    if {"saved_model.pb", "tfhub_module.pb"} & set(names):
        return inspect_saved_model(path, names)
    versions = [n for n in names if n.isdecimal()]
    if versions and "saved_model.pb" in os.listdir(
        os.path.join(path, versions[-1])
    ):
        return _versions(path, versions)
    if len(set(MANY_LANGS) & set(names)) > 1:
        return _many_langs(path, names)
    has_options = any(n.endswith("options.json") for n in names)
    if set(_PRESET) & set(names) and not has_options:
        return _preset(path, names)
    if is_training_without_model(names):
        return _begun_training(path, names)
    if holds_checkpoint(names):
        return _checkpoint(path, names, is_unpacked)
    if any(n.endswith((".hdf5", "options.json")) for n in names):
        return _bilm(path, names)
    shown = ", ".join(names[:10]) or "nothing"
    return Finding(
        path,
        "a folder",
        {"holds": shown},
        problems=["It holds no model that this package knows."],
    )


def _bilm(path, names):
    finding = Finding(path, _kind_of_bilm(names))
    options = _add_options(finding, path, names)
    try:
        file = os.path.join(path, find_weights(names, path))
        add_weights(finding, file, options)
    except ValueError as error:
        finding.problems.append(str(error))
    add_bilm_uses(finding, path)
    _add_language_model(finding, path, names, options)
    if "training.json" in names:
        finding.uses.append(_how_to_go_on(names))
    return finding


def _begun_training(path, names):
    return Finding(
        path,
        "the folder of a training by keras-elmo pretrain, which has no model "
        "yet",
        {"model": "comes with the first held-out perplexity or checkpoint"},
        uses=[_how_to_go_on(names)],
    )


def _how_to_go_on(names):
    if "training_state.hdf5" in names:
        return (
            "Run the training's command again: it goes on from "
            "training_state.hdf5."
        )
    return "Run the training's command again."


def _add_options(finding, path, names):
    """Returns the options of a folder, or `None` and a problem."""
    try:
        return add_options(
            finding, os.path.join(path, find_options(names, path))
        )
    except ValueError as error:
        finding.problems.append(str(error))
        return None


def _kind_of_bilm(names):
    if "training.json" in names:
        return "the folder of a training by keras-elmo pretrain, with its biLM"
    if "meta.json" in names or "model.hdf5" in names:
        return "a biLM as the NLPL repository and simple_elmo have it"
    if "softmax.hdf5" in names:
        return "a language model as keras-elmo convert and pretrain write it"
    return "a biLM as bilm-tf and AllenNLP have it"


def _add_language_model(finding, path, names, options):
    for name in VOCABULARIES:
        if name in names:
            add_vocabulary(finding, os.path.join(path, name), options)
            break
    if "softmax.hdf5" in names:
        file = os.path.join(path, "softmax.hdf5")
        damage = tell_damage(file)
        if damage is not None:
            finding.problems.append(f"softmax.hdf5 {damage}")
        elif not finding.problems:
            finding.uses.append(f"keras-elmo perplexity {path} heldout.txt")


def _checkpoint(path, names, is_unpacked):
    finding = Finding(path, "a TensorFlow checkpoint of bilm-tf's training")
    options = _add_options(finding, path, names)
    try:
        checkpoint = find_checkpoint(path, None, not is_unpacked)
        finding.facts["checkpoint"] = os.path.basename(checkpoint)
        if options is not None:
            shapes = bilm_shapes(options.token_encoder, options.encoder)
            Checkpoint(checkpoint).read(shapes)
    except (ValueError, OSError) as error:
        finding.problems.append(str(error))
    _add_language_model(finding, path, names, options)
    if not finding.problems:
        finding.uses += [
            f"keras-elmo convert {path} my_elmo",
            f"keras-elmo perplexity {path} heldout.txt",
        ]
    return finding


def _preset(path, names):
    finding = Finding(path, "a folder of ElmoLayer.save_to_preset")
    _add_missing(finding, names, _PRESET)
    if "config.json" in names:
        config = _read_json(finding, os.path.join(path, "config.json"))
        found = config.get("registered_name")
        finding.facts["layer"] = str(found)
        if found != "keras_elmo>ElmoLayer":
            finding.what = "a folder with the config.json of another package"
            finding.problems.append(
                "config.json must be that of 'keras_elmo>ElmoLayer'. "
                f"Received: {found!r}"
            )
    if "metadata.json" in names:
        metadata = _read_json(finding, os.path.join(path, "metadata.json"))
        for key in ("keras_version", "keras_elmo_version", "parameter_count"):
            if key in metadata:
                finding.facts[key.replace("_", " ")] = f"{metadata[key]}"
    if "model.weights.h5" in names:
        file = os.path.join(path, "model.weights.h5")
        finding.facts["weights"] = size_of(os.path.getsize(file))
        damage = tell_damage(file)
        if damage is not None:
            finding.problems.append(f"model.weights.h5 {damage}")
    if not finding.problems:
        _add_wrong_arrays(finding, path)
    if not finding.problems:
        finding.loader = ("from_preset", path)
        finding.uses.append(f'keras_elmo.ElmoLayer.from_preset("{path}")')
    return finding


def _add_wrong_arrays(finding, path):
    try:
        read_preset(path, "keras_elmo>ElmoLayer")
    except ValueError as error:
        finding.problems.append(str(error))


def _many_langs(path, names):
    finding = Finding(path, "a model of ELMoForManyLangs")
    _add_missing(finding, names, MANY_LANGS)
    for name in sorted({*MANY_LANGS, "word.dic"} & set(names)):
        file = os.path.join(path, name)
        finding.facts[name] = size_of(os.path.getsize(file))
        damage = tell_damage(file)
        if damage is not None:
            finding.problems.append(f"{name} {damage}")
    if finding.problems:
        return finding
    try:
        with open_many_langs(path) as files:
            sizes = files.encoder
    except (ValueError, OSError) as error:
        finding.problems.append(str(error))
    else:
        finding.facts["LSTMs"] = (
            f"{sizes['num_layers']} layers in each direction, "
            f"{sizes['units']:,} units, projection {sizes['projection_dim']}"
        )
        finding.loader = ("from_many_langs", path)
        finding.uses.append(f'keras_elmo.ElmoLayer.from_many_langs("{path}")')
    return finding


def _versions(path, versions):
    finding = inspect_saved_model(os.path.join(path, versions[-1]))
    finding.path = path
    finding.facts = {"versions": ", ".join(versions), **finding.facts}
    finding.what = f"a folder of versions; the last is {finding.what}"
    return finding


def _add_missing(finding, names, expected):
    missing = sorted(set(expected) - set(names))
    if missing:
        finding.problems.append(f"Missing beside the rest: {missing}")


def _read_json(finding, path):
    try:
        content = json.loads(read_regular(path))
    except (ValueError, RecursionError) as error:
        finding.problems.append(f"{os.path.basename(path)} is no JSON: {error}")
        return {}
    return content if isinstance(content, dict) else {}
