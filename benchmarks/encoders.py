"""Compares ELMo with transformer encoders: speed, memory, startup, file size.

    python benchmarks/encoders.py --text dev.conllu --output encoders.json \\
        --tokenizer tokenizer.json --transformers-python PYTHON

The encoders run in turns, each in its own process; see README.md.
"""

import pathlib
import statistics
import sys
import tempfile
import time
from typing import Any
from typing import NamedTuple

from peer_worker import SHAPES
from program import begin_results
from program import make_parser
from program import write_results
from random_weights import SIZES
from random_weights import write_bilm
from worker import loaded
from worker import tell
from workloads import count_tokens
from workloads import read_sentences
from workloads import sentence_of
from workloads import split_batches

import keras_elmo

BATCH_SIZES = (1, 4, 8, 32)
QUICK = {
    "elmos": ["english_mini"],
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


def main():
    arguments = parse_arguments()
    sentences = read_sentences(arguments.text)
    sentence = sentence_of(20, sentences)
    # Sorted by length, which avoids padding in the batches.
    text = sorted(sentences[: arguments.sentences], key=len)
    results = begin_results(
        text=pathlib.Path(arguments.text).name,
        sentences=len(text),
        words=count_tokens(text),
        turns=arguments.turns,
        rows=[],
    )
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        encoders = list(find_encoders(arguments, folder))
        for encoder in encoders:
            # It exports its file, and fills the page cache.
            with loaded(encoder, encoder.folder, folder):
                results["rows"].append(describe(encoder))
        for turn in range(arguments.turns):
            for encoder, row in zip(encoders, results["rows"]):
                measure(encoder, row, text, sentence, arguments.calls, folder)
                cells = ", ".join(cells_of(row, results["words"]))
                tell(f"turn {turn + 1}: {cells}")
    write_results(arguments.output, results)
    print("\n".join(table(results)))


def parse_arguments():
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("--text", required=True, help="CoNLL-U, or one sentence per line")
    add("--output", required=True, help="JSON file to write")
    add("--elmos", nargs="*", default=["original", "small", "english_mini"],
        help="sizes of random_weights.py, or presets")  # fmt: skip
    add("--shapes", nargs="*", choices=SHAPES, default=[*SHAPES])
    add("--tokenizer", help="tokenizer.json with BERT's wordpieces")
    add("--transformers-python", help="a Python with onnx, onnxruntime, "
        "tokenizers, torch and transformers; without it, only ELMo is "
        "measured")  # fmt: skip
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
    precisions = (("float32", ""), ("int8", "int8"))
    for name in arguments.elmos:
        if name in SIZES:
            bilm = str(folder / name)
            write_bilm(folder / name, name)
        else:
            bilm = keras_elmo.PRESETS[name].path
        own = (sys.executable, "own_worker.py", bilm)
        for precision, quantize in precisions:
            options = {"kind": "embedder", "quantize": quantize}
            yield Encoder(name, "`ElmoEmbedder`", precision, *own, options)
            options = {
                "kind": "onnx",
                "exported": str(folder / f"{name}_{precision}.onnx"),
                "quantize": quantize,
            }
            yield Encoder(name, "ONNX Runtime", precision, *own, options)
    peer = (arguments.transformers_python, "peer_worker.py", "")
    for shape in arguments.shapes if arguments.transformers_python else ():
        for precision, quantize in precisions:
            options = {
                "kind": "transformer",
                "shape": shape,
                "tokenizer": arguments.tokenizer,
                "exported": str(folder / f"{shape}_{precision}.onnx"),
                "quantize": quantize,
            }
            yield Encoder(shape, "ONNX Runtime", precision, *peer, options)


def describe(encoder):
    exported = encoder.options.get("exported")
    bilm = [f"{encoder.folder}/{n}" for n in ("options.json", "weights.hdf5")]
    files = [exported] if exported else bilm
    size = sum(pathlib.Path(file).stat().st_size for file in files)
    return {
        "name": encoder.name,
        "runs_in": encoder.runs_in,
        "precision": encoder.precision,
        "file_megabytes": size / 1e6,
        **{name: [] for name in ("start", "megabytes", "sentence", "text")},
    }


def measure(encoder, row, text, sentence, calls, folder):
    """Adds the seconds and megabytes of a turn to the row."""

    def time_text(size):
        """Times a pass over the text, after one that is not timed."""
        batches = split_batches(text, size)
        return worker.call("time", batches=batches, untimed_calls=1)

    start = time.perf_counter()
    with loaded(encoder, encoder.folder, folder) as worker:
        row["start"].append(time.perf_counter() - start)
        row["megabytes"].append(worker.call("peak_megabytes"))
        row["sentence"] += worker.call(
            "time", batches=[[sentence]], calls=calls, untimed_calls=2
        )
        if "batch_size" not in row:
            # The embedder makes its own batches.
            has_batches = encoder.options["kind"] != "embedder"
            sizes = BATCH_SIZES if has_batches else (None,)
            row["batch_size"] = min(sizes, key=time_text)
        row["text"] += time_text(row["batch_size"])
        row["versions"] = worker.call("versions")
        if not encoder.folder:
            row["wordpieces"] = worker.call("count_wordpieces", sentences=text)


def table(results):
    """Yields the lines of the Markdown table."""
    yield (
        "| | runs in | | words/s | ms, one sentence | peak MB | "
        "s to the first vector | file, MB |"
    )
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for row in results["rows"]:
        yield f"| {' | '.join(cells_of(row, results['words']))} |"
    counts = {x["wordpieces"] for x in results["rows"] if "wordpieces" in x}
    for count in counts:
        yield f"\nWordpieces per word: {count / results['words']:.2f}"


def cells_of(row, words):
    """Returns the cells of a row, with the medians of its turns."""
    names = ("text", "sentence", "megabytes", "start")
    text, sentence, megabytes, start = (
        statistics.median(row[name]) for name in names
    )
    return (
        *(row["name"], row["runs_in"], row["precision"]),
        f"{words / text:,.0f}",
        f"{1000 * sentence:.1f}",
        f"{megabytes:,.0f}",
        f"{start:.1f}",
        f"{row['file_megabytes']:,.0f}",
    )


if __name__ == "__main__":
    main()
