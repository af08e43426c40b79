"""Measures a tagger in all its formats: words per second, size and labels.

    python benchmarks/tagger_formats.py --text test.conllu --output formats.json

- tagger.keras: `Tagger.predict`, and the file of `Tagger.save`.
- saved_model: its signature `default`, which takes words joined by spaces.
- float32.onnx, int8.onnx: `examples/onnx/client.py`, which makes the ids.

All get the same batches, of 32 sentences of similar length, as `Tagger.predict`
makes them. They take turns in one process. The first turn is not timed.
"""

import functools
import pathlib
import sys
import tempfile
import time

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import tensorflow as tf
from program import begin_results
from program import make_parser
from program import write_results
from worker import Calls
from workloads import count_tokens
from workloads import read_sentences
from workloads import split_batches

import keras_elmo

sys.path.append(str(pathlib.Path(__file__).parents[1] / "examples" / "onnx"))


def main():
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("--model", default="english_pos", help="what Tagger.load takes")
    add("--text", required=True, help="CoNLL-U, or one sentence per line")
    add("--turns", type=int, default=7)
    add("--output", required=True, help="JSON file to write")
    arguments = parser.parse_args()
    sentences = read_sentences(arguments.text)
    tagger = keras_elmo.Tagger.load(arguments.model)
    with tempfile.TemporaryDirectory() as folder:
        formats = make_formats(tagger, pathlib.Path(folder))
        found = measure(formats, sentences, arguments.turns)
    results = begin_results(
        model=pathlib.Path(arguments.model).name,
        text=pathlib.Path(arguments.text).name,
        words=count_tokens(sentences),
        versions=Calls(load=None).versions(),
        formats=found,
    )
    write_results(arguments.output, results)


def make_formats(tagger, folder):
    """Writes all formats; returns functions from a batch to labels, by path."""
    from client import Elmo

    keras_file, saved_model = folder / "tagger.keras", folder / "saved_model"
    tagger.save(keras_file)
    keras_elmo.export_saved_model(tagger.model, saved_model)
    serve = tf.saved_model.load(str(saved_model)).signatures["default"]
    formats = {
        keras_file: functools.partial(tagger.predict, verbose=0),
        saved_model: functools.partial(ask_saved_model, serve),
    }
    for quantize in (None, "int8"):
        path = folder / f"{quantize or 'float32'}.onnx"
        keras_elmo.export_onnx(tagger.model, path, quantize=quantize)
        formats[path] = functools.partial(ask_onnx, Elmo(path), tagger)
    return formats


def ask_saved_model(serve, batch):
    outputs = serve(tf.constant([" ".join(words) for words in batch]))
    (rows,) = (x for name, x in outputs.items() if name.endswith("_labels"))
    return [[x.decode() for x in row if x] for row in rows.numpy()]


def ask_onnx(elmo, tagger, batch):
    (rows,) = elmo(batch).values()
    name_of = tagger.tag_names.__getitem__
    return [list(map(name_of, x[: len(s)])) for x, s in zip(rows, batch)]


def measure(formats, sentences, turns):
    """Returns size, time and labels that differ from those of the first."""
    batches = split_batches(sorted(sentences, key=len), 32)
    seconds, labels = {path: [] for path in formats}, {}
    for _ in range(turns + 1):
        for path, label in formats.items():
            start = time.perf_counter()
            labels[path] = [x for b in batches for row in label(b) for x in row]
            seconds[path].append(time.perf_counter() - start)
    expected, found = next(iter(labels.values())), {}
    for path in formats:
        files = [x for x in (path, *path.rglob("*")) if x.is_file()]
        pairs = zip(labels[path], expected, strict=True)
        found[path.name] = {
            "megabytes": sum(x.stat().st_size for x in files) / 1e6,
            "different_labels": sum(a != b for a, b in pairs),
            "seconds": seconds[path][1:],
        }
    return found


if __name__ == "__main__":
    main()
