"""Measures how 8-bit weights change the vectors of a trained model.

    python benchmarks/int8_quality.py --text heldout.txt \\
        --treebank ud_english_ewt --output int8.json

Compares the 8-bit embedder, and a file written by `export_onnx`, with float32:

- the norm of each layer's difference, relative to the layer's norm, on 64
  sentences, and along one sentence of 2,000 words in parts of 250;
- the perplexity of each word that has a preceding word in its direction, from
  the top layer of each direction and the model's softmax;
- for each layer, the accuracy of a linear part-of-speech classifier, trained on
  float32 vectors of a Universal Dependencies treebank and tested on the others.
"""

import pathlib
import sys
import tempfile

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import h5py
import keras
import numpy as np
from program import begin_results
from program import make_parser
from program import write_results
from workloads import read_sentences

import keras_elmo
from keras_elmo import ElmoEmbedder

SEEDS = 3
HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE / "tagging"), str(HERE.parent / "examples" / "onnx")]


def main():
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("--model", default="english_mini", help="preset of the package, or a "
        "folder, with the softmax")  # fmt: skip
    add("--text", required=True, help="CoNLL-U, or one sentence per line")
    add("--treebank", type=pathlib.Path, help="folder with train.conllu and "
        "test.conllu")  # fmt: skip
    add("--sentences", type=int, default=1000, help="for the perplexity")
    add("--output", required=True, help="JSON file to write")
    arguments = parser.parse_args()
    sentences = read_sentences(arguments.text)
    preset = keras_elmo.PRESETS.get(arguments.model)
    elmo = keras_elmo.ElmoLayer.from_preset(arguments.model)
    with tempfile.TemporaryDirectory() as folder:
        ways = make_ways(elmo, folder)
        results = begin_results(
            model=pathlib.Path(arguments.model).name,
            text=pathlib.Path(arguments.text).name,
            layers=layer_errors(ways, sentences[:64]),
            drift=drift(ways, sentences),
            perplexity=perplexities(
                ways,
                pathlib.Path(getattr(preset, "path", arguments.model)),
                sentences[: arguments.sentences],
            ),
        )
        if arguments.treebank:
            results["accuracy"] = accuracies(ways, arguments.treebank)
    write_results(arguments.output, results)


def make_ways(elmo, folder):
    """Returns functions from sentences to arrays (layers, tokens, width)."""
    from client import Elmo

    path = f"{folder}/elmo.onnx"
    keras_elmo.export_onnx(elmo, path, quantize="int8")
    client = Elmo(path)

    def ask(sentences):
        arrays = []
        for sentence in sentences:
            answer = client([sentence])
            tokens = np.concatenate([answer["word_emb"][0]] * 2, axis=-1)
            others = [v[0] for k, v in answer.items() if k.startswith("lstm")]
            arrays.append(np.stack([tokens, *others]))
        return arrays

    return {
        "float32": ElmoEmbedder(elmo).embed_batch,
        "embedder": ElmoEmbedder(elmo, quantize="int8").embed_batch,
        "ONNX": ask,
    }


def layer_errors(ways, sentences):
    """Returns {way: the relative error of each layer}."""
    vectors = {
        name: np.concatenate(embed(sentences), axis=1)
        for name, embed in ways.items()
    }
    return against_float32(vectors, axis=(1, 2))


def drift(ways, sentences):
    """Returns {way: the relative error of each 250 words of one sentence}."""
    words = [word for sentence in sentences for word in sentence][:2000]
    vectors = {
        # The contextual layers: (parts, layers, 250, width).
        name: np.stack(np.split(embed([words])[0][1:], 8, axis=1))
        for name, embed in ways.items()
    }
    return against_float32(vectors, axis=(1, 2, 3))


def against_float32(vectors, axis):
    expected = vectors.pop("float32")
    size = np.sqrt((expected**2).sum(axis=axis))
    return {
        name: (np.sqrt(((x - expected) ** 2).sum(axis=axis)) / size).tolist()
        for name, x in vectors.items()
    }


def perplexities(ways, folder, sentences):
    """Returns {way: perplexity}, with the softmax in a model's folder."""
    with h5py.File(folder / "softmax.hdf5") as file:
        arrays = (file[f"softmax/{name}"][()] for name in "Wb")
        kernel, bias = (array.astype("float32") for array in arrays)
    words = (folder / "vocab.txt").read_text("utf-8").split("\n")
    ids = {word: number for number, word in enumerate(words)}

    def losses(vectors, targets):
        logits = vectors @ kernel.T + bias
        log_sums = np.logaddexp.reduce(logits, axis=-1)
        return log_sums - logits[np.arange(len(targets)), targets]

    found = {}
    for name, embed in ways.items():
        every = []
        for sentence, vectors in zip(sentences, embed(sentences)):
            numbers = [ids.get(word, ids["<UNK>"]) for word in sentence]
            targets = np.array(numbers, "int64")
            forward, backward = np.split(vectors[-1], 2, axis=-1)
            every += [losses(forward[:-1], targets[1:])]
            every += [losses(backward[1:], targets[:-1])]
        found[name] = float(np.exp(np.concatenate(every).mean()))
    return found


def accuracies(ways, treebank):
    """Returns {way: for each layer, the accuracy of each seed's classifier}."""
    from data import read_tagged

    train, test = (
        read_tagged(treebank / f"{name}.conllu") for name in ("train", "test")
    )
    names = sorted({tag for sentence in train for tag in sentence.tags})

    def concatenated(embed, part):
        return np.concatenate(embed([s.words for s in part]), axis=1)

    known = concatenated(ways["float32"], train)
    asked = {name: concatenated(embed, test) for name, embed in ways.items()}
    targets, gold = (
        np.array([names.index(tag) for s in part for tag in s.tags])
        for part in (train, test)
    )
    right = {name: np.zeros((len(known), SEEDS)) for name in ways}
    for layer, seed in np.ndindex(len(known), SEEDS):
        keras.utils.set_random_seed(seed)
        classifier = keras.Sequential([keras.layers.Dense(len(names))])
        classifier.compile(
            keras.optimizers.Adam(0.003),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
        classifier.fit(
            known[layer], targets, batch_size=512, epochs=5, verbose=0
        )
        for name, vectors in asked.items():
            logits = classifier.predict(vectors[layer], 4096, verbose=0)
            right[name][layer, seed] = 100 * np.mean(logits.argmax(-1) == gold)
    return {name: found.tolist() for name, found in right.items()}


if __name__ == "__main__":
    main()
