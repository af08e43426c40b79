"""Measures how fast taggers are, compared with the embedder of their ELMo.

    python benchmarks/tagging/speed.py --data data --minilm model.onnx \\
        --names UNER_English-EWT/en_ewt-ud-test.iob2 \\
        broad_twitter_corpus/f.conll wnut17/test.conll \\
        --output docs/results/tagger_speed.json

The folder `data` has ud_english_ewt/test.conllu, and wnut17/train.conll and so
on. All rows of a
table run in turns, after one pass that is not timed, on the sentences of EWT's
test file in the order of the file, with their defaults:

- the embedder: `ElmoEmbedder`, the ELMo of the tagger, its mix, in float32;
- each tagger as it is; with `quantize="int8"`; and as a whole model, which runs
  ELMo as an `ElmoLayer` on padded batches of 32 sentences. `english_pos` reads
  512 numbers for each word, and a tagger of `train-tagger` 1,536. Its network
  is trained for one epoch, which is enough to measure its speed;
- spaCy: the network of `spacy init config --optimize efficiency` for parts of
  speech, with random weights;
- MiniLM-L6, fine-tuned: the file that minilm.py writes, in ONNX Runtime, and
  the same with the weights of its products in 8 bits.

Then it measures what 8 bits do to scores: the accuracy of `english_pos` on EWT,
the F1 of three seeds of `train-tagger` on WNUT 2017, and the calibration error
of the probabilities of `english_names`, as in probabilities.py.
"""

import itertools
import pathlib
import statistics
import sys
import time
from unittest import mock

import keras_elmo.quiet_start  # noqa: F401

# isort: split

import keras
from onnxruntime import quantization

from keras_elmo import ElmoEmbedder
from keras_elmo import ElmoLayer
from keras_elmo import Tagger
from keras_elmo import text
from keras_elmo.tagging import sentence_model

if __name__ == "__main__":
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from program import begin_results
from program import make_parser
from program import write_results
from worker import tell

SEEDS = 1, 2, 3
# Calls with one sentence of 20 words, in each turn.
CALLS = 5


def main(argv=None):
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("--data", type=pathlib.Path, required=True, help="folder of EWT, WNUT")
    add("--names", type=pathlib.Path, nargs="+", help="files of names_data.py")
    add("--minilm", help="ONNX file of a fine-tuned MiniLM")
    add("--turns", type=int, default=7)
    add("--sentences", type=int, help="of each file; default: all")
    add("--epochs", type=int, default=50, help="of the taggers on WNUT")
    add("--output", required=True, help="JSON file to write")
    options = parser.parse_args(argv)
    words, tags = read(options, "ud_english_ewt/test.conllu")
    results = begin_results(words=sum(map(len, words)), turns=options.turns)
    results["seconds"] = {}
    for name, tagger in make_taggers(options).items():
        rows = rows_of(tagger)
        if name == "english_pos":
            rows |= others(options, words, tags)
        results["seconds"][name] = measure(rows, words, options.turns)
    tell("The speeds are measured.")
    results["scores"] = scores(options, words, tags)
    write_results(options.output, results)
    print_tables(results)


def read(options, name):
    """Returns the sentences and tags of a file."""
    rows = text.read_conll(options.data / name)
    return [part[: options.sentences] for part in rows]


def make_taggers(options):
    """Returns a dictionary of taggers."""
    keras.utils.set_random_seed(1)
    some = [part[:300] for part in read(options, "ud_english_ewt/train.conllu")]
    return {
        "english_pos": Tagger.load("english_pos"),
        "train-tagger": Tagger.train(*some, epochs=1, verbose=0),
        "english_names": Tagger.load("english_names"),
    }


def rows_of(tagger):
    """Returns functions of sentences: the embedder's, and the tagger's."""
    (elmo,) = (x for x in tagger.model.layers if isinstance(x, ElmoLayer))
    layers = "mix" if elmo.num_representations == 1 else "all"
    with mock.patch.object(
        sentence_model, "find_elmo", return_value=(None, [])
    ):
        whole = Tagger(tagger.model)
    rows = {"ElmoEmbedder": ElmoEmbedder(elmo, layers).embed_batch}
    taggers = {
        "float32": tagger,
        "int8": Tagger(tagger.model, quantize="int8"),
        "float32, whole model": whole,
    }
    for name, x in taggers.items():
        # The default verbose of 50 batches or more shows no bar in a file.
        rows[name] = x.predict
        if tagger.scheme:
            rows[f"{name}, entities"] = x.predict_entities
    return rows


def others(options, words, tags):
    """Returns functions of sentences: those of other packages."""
    found = {"spaCy": spacy_tagger(words[:200], tags[:200])}
    if options.minilm:
        quantized = str(pathlib.Path(options.minilm).with_suffix(".int8.onnx"))
        quantization.quantize_dynamic(options.minilm, quantized)
        labels = sorted({*itertools.chain(*tags)})
        found["MiniLM, float32"] = minilm_tagger(options.minilm, labels)
        found["MiniLM, int8"] = minilm_tagger(quantized, labels)
    return found


def minilm_tagger(file, labels):
    import minilm

    words = minilm.open_words(file)
    return lambda sentences: minilm.best_labels(words, sentences, labels)


def spacy_tagger(words, tags):
    import rivals
    import spacy.cli
    from spacy.training import Example

    config = spacy.cli.init_config(
        lang="en", optimize="efficiency", pipeline=["tok2vec", "morphologizer"]
    )
    nlp = spacy.util.load_model_from_config(config, auto_fill=True)
    pairs = [
        [rivals.make_doc(nlp.vocab, x, *y) for y in ((), (row,))]
        for x, row in zip(words, tags)
    ]
    nlp.initialize(lambda: [Example(*pair) for pair in pairs])

    def tag(sentences):
        docs = (rivals.make_doc(nlp.vocab, x) for x in sentences)
        return [rivals.read_doc(doc, "ewt") for doc in nlp.pipe(docs)]

    return tag


def measure(rows, words, turns):
    """Returns the seconds of all sentences, and of one, for each row."""
    one = [min(words, key=lambda x: abs(len(x) - 20))]
    found = {name: {"corpus": [], "one": []} for name in rows}
    for turn in range(turns + 1):
        for name, function in rows.items():
            corpus = [seconds(function, words)]
            single = [seconds(function, one) for _ in range(CALLS)]
            if turn:
                found[name]["corpus"] += corpus
                found[name]["one"] += single
    return found


def seconds(function, sentences):
    start = time.perf_counter()
    function(sentences)
    return time.perf_counter() - start


def scores(options, words, tags):
    """Returns the scores in float32 and in 8 bits."""
    model = Tagger.load("english_pos").model
    found = {"english_pos": [both(model, words, tags, "accuracy")], "WNUT": []}
    parts = [
        read(options, f"wnut17/{name}.conll")
        for name in ("train", "dev", "test")
    ]
    for seed in SEEDS:
        keras.utils.set_random_seed(seed)
        tagger = Tagger.train(
            *parts[0], parts[1], epochs=options.epochs, verbose=0
        )
        found["WNUT"].append(both(tagger.model, *parts[2], "f1"))
    if options.names:
        import names_data
        import probabilities

        model = Tagger.load("english_names").model
        found["calibration"] = {
            path.name: {
                key: probabilities.reliability(tagger, *data)["error"]
                for key, tagger in precisions(model).items()
            }
            for path in options.names
            for data in [names_data.split(names_data.read(path))]
        }
    return found


def precisions(model):
    return {"float32": Tagger(model), "int8": Tagger(model, quantize="int8")}


def both(model, words, tags, measure):
    """Returns a score in each precision, and how many labels differ."""
    taggers = precisions(model)
    scores = {k: x.evaluate(words, tags)[measure] for k, x in taggers.items()}
    first, second = (x.predict(words) for x in taggers.values())
    pairs = zip(itertools.chain(*first), itertools.chain(*second))
    return {**scores, "differ": sum(a != b for a, b in pairs)}


def print_tables(results):
    for name, rows in results["seconds"].items():
        base = statistics.median(rows["ElmoEmbedder"]["corpus"])
        print(f"\n| {name} | words/s | of ElmoEmbedder's | ms, one sentence |")
        print("| --- | ---: | ---: | ---: |")
        for row, times in rows.items():
            corpus, one = (statistics.median(x) for x in times.values())
            speed = results["words"] / corpus
            cells = f"{speed:,.0f} | {base / corpus:.2f} | {1000 * one:.1f}"
            print(f"| {row} | {cells} |")
    print(results["scores"])


if __name__ == "__main__":
    main()
