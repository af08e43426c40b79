"""Files that are not models: other HDF5 and `.npz` files, and text."""

import json
import re
import shlex

from keras_elmo.files.hdf5_files import open_hdf5
from keras_elmo.formats.bilm_options import parse_language_model_options
from keras_elmo.models.found_model import quoted
from keras_elmo.models.model_facts import characters_fact
from keras_elmo.models.model_facts import model_facts
from keras_elmo.models.model_facts import vocabulary_fact
from keras_elmo.text.corpora import open_unpacked
from keras_elmo.text.vocabulary import vocabulary_words

_NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
_FASTA = re.compile(r">\S.*\n(>.*|[A-Za-z*-]+)(\n.*)*")


def inspect_hdf5(inspection, path):
    """Reports on an HDF5 file; returns whether it has a biLM's weights."""
    with open_hdf5(path) as (store, shapes):
        top = set(store)
    number = f"{len(shapes):,}"
    if any(key.startswith("RNN_0/") for key in shapes):
        inspection.what = "the weight file of a biLM (bilm-tf format)"
        return True
    if set(shapes) == {"embedding"}:
        inspection.what = "the vectors of a vocabulary, as "
        inspection.what += "bilm-tf's dump_token_embeddings writes them"
        inspection.facts["shape"] = str(shapes["embedding"])
        inspection.uses = [
            "keras_elmo.ElmoLayer.from_bilm(options, weights, "
            f'token_embeddings={quoted(path)}, vocabulary="vocab.txt")'
        ]
        if len(shapes["embedding"]) != 2:
            raise ValueError(
                "'embedding' must have the shape (words, projection_dim). "
                f"Received: {shapes['embedding']}"
            )
    elif "softmax/b" in shapes:
        inspection.what = "the softmax of a language model"
        inspection.facts["words"] = f"{shapes['softmax/b'][0]:,}"
        inspection.uses = [
            "It is read together with options.json, weights.hdf5 and vocab.txt "
            "in the same folder."
        ]
    elif any(key.isdecimal() for key in shapes):
        layout = "AllenNLP's" if "sentence_to_index" in shapes else "bilm-tf's"
        inspection.facts["layout"] = layout
        _inspect_corpus(
            inspection, f'h5py.File({quoted(path)})["0"][()]', shapes
        )
    elif {"progress", "lstm_state"} <= top:
        inspection.what = "the state of a training run of keras-elmo pretrain"
        inspection.facts["arrays"] = number
        inspection.uses = ["Run the training command again to resume it."]
    elif any(key.startswith("encoder.forward_cells.") for key in shapes):
        inspection.what = "the weights in a folder of ElmoLayer.save_to_preset"
        inspection.uses = [
            "keras_elmo.ElmoLayer.from_preset(...) of its folder"
        ]
    elif top & {"layers", "_layer_checkpoint_dependencies"}:
        inspection.what = "the weights of a Keras model, without the model"
        inspection.facts["arrays"] = number
        inspection.uses = ["model.load_weights(...), on a model of its sizes"]
    else:
        raise _unknown(f"It holds: {', '.join(sorted(shapes)[:8])}")
    return False


def inspect_corpus_archive(inspection, path, names):
    """Reports on an `.npz` file that contains files of these names."""
    keys = [name.removesuffix(".npy") for name in names]
    if any(map(str.isdecimal, keys)):
        _inspect_corpus(inspection, f'numpy.load({quoted(path)})["0"]', keys)
    else:
        inspection.what = "NumPy arrays"
        inspection.facts["arrays"] = ", ".join(keys[:8])


def _inspect_corpus(inspection, use, keys):
    numbers = {int(key) for key in keys if key.isdecimal()}
    inspection.what = (
        "the embeddings of a corpus, as keras-elmo embed writes them"
    )
    inspection.facts["sentences"] = f"{len(numbers):,}"
    inspection.uses = [use]
    missing = sorted(set(range(len(numbers))) - numbers)
    if missing:
        raise ValueError(
            "The keys must be the sentences' numbers, starting at 0. Missing: "
            f"{missing[:8]}"
        )


def inspect_text(inspection, path):
    """Reports on a file that should be text."""
    with open_unpacked(path) as file:
        lines = [file.readline(1 << 16) for _ in range(3)]
    if any(b"\0" in line for line in lines):
        raise _unknown("It is not text")
    try:
        lines = [line.decode("utf-8-sig").rstrip("\r\n") for line in lines]
    except UnicodeDecodeError as error:
        raise _unknown("It is not UTF-8 text") from error
    lines = list(filter(None, lines))
    fields = lines[-1].split() if lines else []
    if path.endswith(".json") or (lines and lines[0].startswith("{")):
        _inspect_json(inspection, path)
    elif _FASTA.fullmatch("\n".join(lines)):
        inspection.what = "protein sequences in the FASTA format"
        inspection.uses = [
            "Make a sentence of each protein, one letter per word: see "
            "'SeqVec: protein sequences' in the documentation."
        ]
    elif len(fields) > 2 and all(map(_NUMBER.fullmatch, fields[1:])):
        inspection.what = "word vectors"
        inspection.uses = [f"keras_elmo.read_word_vectors({quoted(path)})"]
    elif not any(" " in line for line in lines):
        inspection.what = "a vocabulary, one word per line"
        inspection.facts |= [vocabulary_fact(vocabulary_words(path))]
    else:
        inspection.what = "text"
        inspection.uses = [
            f"keras-elmo embed {shlex.quote(path)} vectors.hdf5 "
            "--model english_mini"
        ]


def _inspect_json(inspection, path):
    inspection.what = "a JSON file"
    try:
        with open(path, encoding="utf-8-sig") as file:
            content = json.load(file)
    except (ValueError, RecursionError) as error:
        if _is_log(path):
            inspection.what = "the log of a training run of keras-elmo pretrain"
            return
        raise ValueError(f"It is not valid JSON: {error}") from error
    if not isinstance(content, dict):
        return
    if "lstm" not in content:
        inspection.facts["keys"] = ", ".join(sorted(content)[:8])
        return
    inspection.what = "the options file of a biLM"
    options = parse_language_model_options(content)
    inspection.facts |= model_facts(options.token_encoder, options.encoder)
    inspection.facts |= characters_fact(content)
    inspection.uses = [
        f'keras_elmo.ElmoLayer.from_bilm({quoted(path)}, "weights.hdf5")'
    ]


def _is_log(path):
    """Whether the first line is JSON as in `log.jsonl`."""
    with open(path, encoding="utf-8-sig") as file:
        try:
            entry = json.loads(file.readline())
        except (ValueError, RecursionError):
            return False
    return isinstance(entry, dict) and {"step", "tokens"} <= entry.keys()


def _unknown(reason):
    return ValueError(f"{reason}: this package does not know such files.")
