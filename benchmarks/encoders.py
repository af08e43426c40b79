"""Compares ELMo with transformer encoders: speed, memory, startup, file size.

    python benchmarks/encoders.py --text dev.conllu --output encoders.json \\
        --tokenizer tokenizer.json --transformers-python PYTHON

The encoders run in turns, each in its own process; see README.md.
"""

import argparse
import contextlib
import datetime
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any
from typing import NamedTuple

import machine
import random_weights
from bench import tell
from implementations import HERE
from implementations import Worker
from worker_transformer import SHAPES
from workloads import count_tokens
from workloads import read_sentences
from workloads import sentence_of
from workloads import split_batches

import keras_elmo

SENTENCE_WORDS = 20
BATCH_SIZES = (1, 4, 8, 32)
QUICK = {
    "elmos": ["english_tiny"],
    "shapes": ["MiniLM-L6"],
    "sentences": 64,
    "turns": 1,
    "calls": 5,
}


class Encoder(NamedTuple):
    """One row of the table."""

    name: str
    runs_in: str
    precision: str
    python: str
    program: str
    folder: str
    """Folder of the biLM; empty for a transformer."""
    options: dict[str, Any]
    """Options of the program's `load`."""
    takes_batches: bool = True
    """If not, it takes the whole text at once."""


def main():
    arguments = parse_arguments()
    sentences = read_sentences(arguments.text)
    sentence = sentence_of(SENTENCE_WORDS, sentences)
    # Sorted by length, which avoids padding in the batches.
    text = sorted(sentences[: arguments.sentences], key=len)
    results = {
        "date": str(datetime.date.today()),
        "machine": machine.describe(),
        "text": pathlib.Path(arguments.text).name,
        "sentences": len(text),
        "words": count_tokens(text),
        "turns": arguments.turns,
    }
    with tempfile.TemporaryDirectory() as folder:
        encoders = list(find_encoders(arguments, pathlib.Path(folder)))
        for encoder in encoders:
            start_once(encoder, folder)
        rows = [describe(encoder) for encoder in encoders]
        for turn in range(arguments.turns):
            for encoder, row in zip(encoders, rows):
                measure(encoder, row, text, sentence, arguments.calls, folder)
                tell(f"turn {turn + 1}: {summarize(row, results['words'])}")
    results["rows"] = rows
    if arguments.output:
        content = json.dumps(results, indent=1)
        pathlib.Path(arguments.output).write_text(content + "\n")
    print("\n".join(table(results)))


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--text", required=True, help="CoNLL-U, or one sentence per line")
    add("--output", help="JSON file to write")
    add(
        "--elmos",
        nargs="*",
        default=["original", "small", "english_mini"],
        help="sizes of random_weights.py, or presets",
    )
    add("--shapes", nargs="*", choices=SHAPES, default=[*SHAPES])
    add("--tokenizer", help="tokenizer.json with BERT's wordpieces")
    add(
        "--transformers-python",
        help="a Python with onnx, onnxruntime, tokenizers, torch and "
        "transformers; without it, only ELMo is measured",
    )
    add("--sentences", type=int, default=512, help="for the words per second")
    add("--turns", type=int, default=3)
    add("--calls", type=int, default=20, help="single-sentence calls per turn")
    add("--quick", action="store_true", help="only check that all of it works")
    arguments = parser.parse_args()
    if arguments.quick:
        vars(arguments).update(QUICK)
    if arguments.transformers_python and not arguments.tokenizer:
        parser.error("--transformers-python needs --tokenizer")
    return arguments


def find_encoders(arguments, folder):
    """Yields the rows: first those of ELMo, then those of transformers."""
    for name in arguments.elmos:
        bilm = _make_bilm(name, folder / name)
        for precision, quantize in (("float32", ""), ("int8", "int8")):
            yield Encoder(
                *(name, "`ElmoEmbedder`", precision, sys.executable),
                *("worker_keras_elmo.py", str(bilm)),
                {"kind": "embedder", "quantize": quantize or None},
                takes_batches=False,
            )
            exported = folder / f"{name}_{precision}.onnx"
            yield Encoder(
                *(name, "ONNX Runtime", precision, sys.executable),
                *("worker_onnx.py", str(bilm)),
                {"exported": str(exported), "quantize": quantize},
            )
    for shape in arguments.shapes if arguments.transformers_python else ():
        for precision, quantize in (("float32", ""), ("int8", "int8")):
            exported = folder / f"{shape}_{precision}.onnx"
            options = {
                "shape": shape,
                "tokenizer": arguments.tokenizer,
                "exported": str(exported),
                "quantize": quantize,
            }
            yield Encoder(
                *(shape, "ONNX Runtime", precision),
                *(arguments.transformers_python, "worker_transformer.py", ""),
                options,
            )


def _make_bilm(name, folder):
    """Returns a folder with `options.json` and `weights.hdf5`."""
    if name in random_weights.SIZES:
        program = HERE / "random_weights.py"
        command = [sys.executable, program, folder, "--size", name]
        subprocess.run(command, check=True, stdout=sys.stderr)
        return folder
    return keras_elmo.PRESETS[name].path


def start_once(encoder, folder):
    """Starts an encoder, which exports its file and warms the file cache."""
    with _worker(encoder, folder) as worker:
        _load(worker, encoder)
    tell(f"ready: {encoder.name}, {encoder.runs_in}, {encoder.precision}")


def describe(encoder):
    exported = encoder.options.get("exported")
    files = [exported] if exported else _bilm_files(encoder.folder)
    size = sum(pathlib.Path(file).stat().st_size for file in files)
    return {
        "name": encoder.name,
        "runs_in": encoder.runs_in,
        "precision": encoder.precision,
        "file_megabytes": size / 1e6,
        "start": [],
        "megabytes": [],
        "sentence": [],
        "text": [],
    }


def _bilm_files(folder):
    return [f"{folder}/{name}" for name in ("options.json", "weights.hdf5")]


def measure(encoder, row, text, sentence, calls, folder):
    """Adds the seconds and megabytes of a turn to the row."""
    start = time.perf_counter()
    with _worker(encoder, folder) as worker:
        _load(worker, encoder)
        row["start"].append(time.perf_counter() - start)
        row["megabytes"].append(worker.call("peak_megabytes"))
        row["sentence"] += worker.call(
            "time",
            batches=[[sentence]],
            settings={},
            calls=calls,
            untimed_calls=2,
        )
        if "batch_size" not in row:
            row["batch_size"] = find_batch_size(worker, encoder, text)
        row["text"] += time_text(worker, text, row["batch_size"])
        row["versions"] = worker.call("versions")
        if not encoder.folder:
            row["wordpieces"] = worker.call("count_wordpieces", sentences=text)


def find_batch_size(worker, encoder, text):
    """Returns the fastest of `BATCH_SIZES`, `None` if it takes no batches."""
    if not encoder.takes_batches:
        return None
    return min(BATCH_SIZES, key=lambda size: time_text(worker, text, size))


def time_text(worker, text, batch_size):
    """Seconds of a pass over the text, in a list, after one not timed."""
    batches = split_batches(text, batch_size)
    return worker.call("time", batches=batches, settings={}, untimed_calls=1)


def _load(worker, encoder):
    worker.call("load", folder=encoder.folder, options=encoder.options)


@contextlib.contextmanager
def _worker(encoder, folder):
    log = pathlib.Path(folder, "worker.log")
    worker = Worker(encoder.name, encoder.python, encoder.program, log)
    try:
        yield worker
    finally:
        worker.close()


def summarize(row, words):
    """Describes the medians of a row in a line."""
    rate, milliseconds, megabytes, seconds, file = _cells(row, words)
    return (
        f"{row['name']}, {row['runs_in']}, {row['precision']}: {rate} words/s, "
        f"{milliseconds} ms, {megabytes} MB, {seconds} s, file {file} MB"
    )


def table(results):
    """Yields the lines of the Markdown table."""
    yield (
        "| | runs in | | words/s | ms, one sentence | peak MB | "
        "s to the first vector | file, MB |"
    )
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for row in results["rows"]:
        cells = (row["name"], row["runs_in"], row["precision"])
        cells += _cells(row, results["words"])
        yield f"| {' | '.join(cells)} |"
    counts = {x["wordpieces"] for x in results["rows"] if "wordpieces" in x}
    for count in counts:
        yield f"\nWordpieces per word: {count / results['words']:.2f}"


def _cells(row, words):
    return (
        f"{words / statistics.median(row['text']):,.0f}",
        f"{1000 * statistics.median(row['sentence']):.1f}",
        f"{statistics.median(row['megabytes']):,.0f}",
        f"{statistics.median(row['start']):.1f}",
        f"{row['file_megabytes']:,.0f}",
    )


if __name__ == "__main__":
    main()
