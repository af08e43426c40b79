"""HDF5 files: weights, softmaxes, embeddings, a training's state."""

import os
import re

from keras_elmo.files.hdf5_files import open_hdf5
from keras_elmo.inspection.bilm_model import add_options
from keras_elmo.inspection.bilm_model import add_weights
from keras_elmo.inspection.finding import Finding
from keras_elmo.inspection.finding import size_of

_SHOWN = 8


def inspect_hdf5(path):
    """Returns the `Finding` of an HDF5 file that can be read."""
    with open_hdf5(path) as (store, shapes):
        top = set(store)
    if any(key.startswith("RNN_0/") for key in shapes):
        return _weights(path, shapes)
    for is_kind, make in _KINDS:
        if is_kind(top, shapes):
            finding = make(path, shapes)
            finding.facts["size"] = size_of(os.path.getsize(path))
            return finding
    keys = ", ".join(sorted(shapes)[:_SHOWN]) or "nothing"
    return Finding(
        path,
        "an HDF5 file",
        {"holds": keys, "size": size_of(os.path.getsize(path))},
        problems=["It holds nothing that this package knows."],
    )


def _weights(path, shapes):
    finding = Finding(path, "the weight file of a biLM, as bilm-tf's")
    if "embedding" in shapes:
        finding.what += ", with word input"
    folder, name = os.path.split(os.path.abspath(path))
    options = find_partner(folder, name)
    if options is None:
        layers = {m.group(0) for m in map(_CELL.match, shapes) if m}
        finding.facts["LSTMs"] = f"{max(1, len(layers))} layers"
        finding.problems.append(
            "Its options file is not beside it: expected options.json or "
            f"{name.removesuffix('weights.hdf5')}options.json in '{folder}'. "
            "Without, nothing can be loaded."
        )
        add_weights(finding, path, None)
        return finding
    finding.facts["options"] = os.path.basename(options)
    add_weights(finding, path, add_options(finding, options))
    add_bilm_uses(finding, options, path)
    return finding


def find_partner(folder, weights):
    """Returns the path of the options file that goes with a weight file."""
    names = ["options.json"]
    if weights.endswith("weights.hdf5"):
        names.insert(0, f"{weights.removesuffix('weights.hdf5')}options.json")
    paths = [os.path.join(folder, name) for name in names]
    return next(filter(os.path.isfile, paths), None)


def add_bilm_uses(finding, *paths):
    """Tells how a biLM, one path or two, is used; unless it is no good."""
    if finding.problems:
        return
    arguments = ", ".join(f'"{path}"' for path in paths)
    command = f"--model {paths[0]}"
    if len(paths) == 2:
        command = f"--options {paths[0]} --weights {paths[1]}"
    finding.loader = ("from_bilm", *paths)
    finding.uses += [
        f"keras_elmo.ElmoLayer.from_bilm({arguments})",
        f"keras-elmo embed corpus.txt vectors.hdf5 {command}",
    ]


def _softmax(path, shapes):
    (number,) = shapes["softmax/b"]
    return Finding(
        path,
        "the softmax of a language model, which predicts words",
        {"words": f"{number:,}"},
        ["It is read with options.json, weights.hdf5 and vocab.txt beside it."],
    )


def _token_embeddings(path, shapes):
    shape = shapes["embedding"]
    finding = Finding(
        path,
        "the vectors of a vocabulary, as bilm-tf's dump_token_embeddings "
        "writes them",
        {"shape": str(shape)},
        [
            "keras_elmo.ElmoLayer.from_bilm(options, weights, "
            f'token_embeddings="{path}", vocabulary="vocab.txt")'
        ],
    )
    if len(shape) != 2:
        finding.problems.append(
            "'embedding' must have the shape (words, projection_dim). "
            f"Received: {shape}"
        )
    return finding


def _corpus_embeddings(path, shapes):
    numbers = [key for key in shapes if key.isdecimal()]
    layout = "AllenNLP's layout (sentence_to_index)"
    if "sentence_to_index" not in shapes:
        layout = "bilm-tf's layout" + (
            "" if "sentences" in shapes else ", without the sentences' text"
        )
    finding = Finding(
        path,
        f"the embeddings of a corpus, in {layout}",
        {
            "sentences": f"{len(numbers):,}",
            "first one": f"'0', of shape {shapes.get('0')}",
        },
        [f'h5py.File("{path}")["0"][()]'],
    )
    missing = set(map(str, range(len(numbers)))) - set(numbers)
    if missing:
        finding.problems.append(
            "The keys must be the sentences' numbers from 0 on. Missing: "
            f"{sorted(missing, key=int)[:_SHOWN]}"
        )
    return finding


def _training_state(path, shapes):
    return Finding(
        path,
        "the state of a training by keras-elmo pretrain",
        {"arrays": f"{len(shapes):,}"},
        ["Run the training's command again: it goes on from here."],
    )


def _keras_weights(path, shapes):
    return Finding(
        path,
        "the weights of a Keras model, without the model",
        {"arrays": f"{len(shapes):,}"},
        ["model.load_weights(...), on the model that they are of."],
    )


_CELL = re.compile(r"RNN_0/RNN/MultiRNNCell/Cell\d+")
_KINDS = (
    (lambda _, shapes: set(shapes) == {"embedding"}, _token_embeddings),
    (lambda _, shapes: "softmax/b" in shapes, _softmax),
    (
        lambda _, shapes: any(key.isdecimal() for key in shapes),
        _corpus_embeddings,
    ),
    (lambda top, _: {"notes", "position"} <= top, _training_state),
    (
        lambda top, _: top & {"layers", "_layer_checkpoint_dependencies"},
        _keras_weights,
    ),
)
