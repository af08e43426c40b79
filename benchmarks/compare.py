"""Compares this package with other ELMo implementations; see README.md."""

import contextlib
import json
import pathlib
import statistics
import sys
import tempfile
import time
from typing import Any
from typing import NamedTuple

import machine
import numpy as np
from program import begin_results
from program import make_parser
from program import write_results
from worker import Worker
from worker import loaded
from worker import tell
from workloads import Work
from workloads import count_tokens
from workloads import read_sentences
from workloads import sentence_of
from workloads import split_batches

PEERS = ("AllenNLP", "bilm-tf", "simple_elmo")
SECTIONS = ("throughput", "latency", "load", "training")
WORDS = 20
TRAINING_SENTENCES = 32
CALLS = 5
"""Calls with one sentence in a turn"""

COMPARED_SENTENCES = 32
LARGEST_ERRORS = {"float32": 1e-5, "bfloat16": 1e-2, "int8": 2e-2}
"""In float32, the largest difference relative to the largest value; otherwise
the norm of a layer's difference relative to the layer's norm."""
LARGEST_LOSS_DIFFERENCE = 1e-4


class Implementation(NamedTuple):
    """One row of the tables."""

    name: str
    python: str
    program: str
    sections: tuple[str, ...]
    options: dict[str, Any]
    """Options of the program's `load`."""
    precision: str = "float32"
    batch_size: int | None = 32
    """`None` if it takes the whole text at once."""


def main():
    arguments = parse_arguments()
    work = Work(arguments.model)
    results = begin_results(
        model=[work.units, work.projection_dim],
        text=pathlib.Path(arguments.text).name,
        sentences=arguments.sentences,
        speeds=[],
        versions={},
    )
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments, pathlib.Path(folder), results)
        for section in arguments.only:
            getattr(bench, section)(work)
            write_results(arguments.output, results)
    print("\n".join(make_tables(results)))


def parse_arguments():
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("--model", required=True, help="folder of the biLM")
    add("--text", required=True, help="CoNLL-U, or one sentence per line")
    add("--output", required=True, help="JSON file to write")
    for name in PEERS:
        flag = name.lower().replace("_", "-")
        add(f"--{flag}-python", help=f"a Python that has {name}")
    add("--only", nargs="+", choices=SECTIONS, default=SECTIONS)
    add("--turns", type=int, default=3)
    add("--sentences", type=int, default=192, help="for the throughput")
    add("--quick", action="store_true", help="only check that all of it works")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.turns, arguments.sentences = 1, 32
    return arguments


def find_implementations(arguments, folder):
    """Returns the peers that were given, then this package's own variants."""
    found = []
    for name in PEERS:
        python = vars(arguments)[f"{name.lower().replace('-', '_')}_python"]
        if python:
            peer = (name, python, "peer_worker.py")
            sections, options = SECTIONS[:3], {"kind": name}
            found.append(Implementation(*peer, sections, options))
            if name == "AllenNLP":
                options = {**options, "trainable": True}
                found.append(Implementation(*peer, ("training",), options))

    def own(name, sections, kind, *more, exported=None, **options):
        if exported:
            options["exported"] = str(folder / exported)
        found.append(
            Implementation(
                *(name, sys.executable, "own_worker.py"),
                *(sections, {"kind": kind, **options}, *more),
            )
        )

    both, one = ("throughput", "latency"), ("latency", "load")
    own("ElmoLayer", both, "layer")
    own("ElmoEmbedder", SECTIONS[:3], "embedder", "float32", None)
    own("ElmoEmbedder, mixed_bfloat16", both[:1], "embedder", "bfloat16", None,
        dtype="mixed_bfloat16")  # fmt: skip
    own("ElmoEmbedder, int8", both[:1], "embedder", "int8", None,
        quantize="int8")  # fmt: skip
    own("SavedModel", one, "saved_model", exported="saved_model")
    own("ONNX", one, "onnx", exported="float32.onnx")
    own("ONNX, int8", one, "onnx", "int8", exported="int8.onnx",
        quantize="int8")  # fmt: skip
    own("ElmoLayer", ("training",), "training", trainable=True)
    return found


class Bench:
    """Measures the sections: a method for each of `SECTIONS`."""

    def __init__(self, arguments, folder, results):
        self._arguments = arguments
        self._folder = folder
        self._results = results
        self._all = find_implementations(arguments, folder)
        sentences = read_sentences(arguments.text)
        self._text = sentences[: arguments.sentences]
        self._sentence = sentence_of(WORDS, sentences)

    def throughput(self, work):
        """Times passes over the text."""
        text = self._text

        def time_text(i, worker):
            batches = split_batches(text, i.batch_size)
            seconds = worker.call("time", batches=batches)
            tell(f"{i.name}: {count_tokens(text) / seconds[0]:,.0f} tokens/s")
            return seconds

        self._measure("throughput", time_text)
        self._results["tokens"] = count_tokens(text)
        self._results["flops"] = work.flops(text)

    def latency(self, work):
        """Times calls with one sentence."""

        def time_sentence(i, worker):
            seconds = worker.call(
                "time",
                batches=[[self._sentence]],
                calls=CALLS,
                untimed_calls=1,
            )
            tell(f"{i.name}: {1000 * seconds[-1]:.1f} ms")
            return seconds

        self._measure("latency", time_sentence)
        self._results["bytes"] = {
            i.name: work.bytes_read(self._sentence, i.precision)
            for i in self._of("latency")
        }

    def load(self, work):
        """Loads each in fresh processes, whose files are in the page cache."""
        found = {i.name: [] for i in self._of("load")}
        are_cached = found.keys() <= self._results["versions"].keys()
        for turn in range(are_cached, self._arguments.turns + 1):
            for i in self._of("load"):
                start = time.perf_counter()
                with self._started(i) as worker:
                    seconds = time.perf_counter() - start
                    megabytes = worker.call("peak_megabytes")
                if turn:
                    found[i.name].append((seconds, megabytes))
                tell(f"{i.name}: {seconds:.1f} s, {megabytes:,.0f} MB")
        self._results["load"] = found

    def training(self, work):
        """Times training steps, after two whose losses must agree."""
        words = [word for sentence in self._text for word in sentence]
        words = words * (1 + TRAINING_SENTENCES * WORDS // len(words))
        batch = split_batches(words, WORDS)[:TRAINING_SENTENCES]
        first = {}

        def train(i, worker):
            if i.name not in first:
                steps = [worker.call("train", sentences=batch) for _ in "12"]
                first[i.name] = np.array([step["loss"] for step in steps])
                losses = first[i.name], next(iter(first.values()))
                error = np.abs(losses[0] / losses[1] - 1).max()
                _check(i.name, error, LARGEST_LOSS_DIFFERENCE)
            return [worker.call("train", sentences=batch)["seconds"]]

        self._measure("training", train)

    def _measure(self, section, measure):
        """Records the seconds that `measure` returns, in turns."""
        seconds = {i.name: [] for i in self._of(section)}
        with contextlib.ExitStack() as stack:
            start = stack.enter_context
            log = self._folder / "machine.log"
            gauge = start(Worker(sys.executable, "machine.py", log))
            workers = [(i, start(self._started(i))) for i in self._of(section)]
            if section != "training":
                self._compare(workers)
            for _ in range(self._arguments.turns):
                self._results["speeds"].append(gauge.call("measure"))
                for i, worker in workers:
                    seconds[i.name] += measure(i, worker)
        self._results[section] = seconds

    def _of(self, section):
        return [i for i in self._all if section in i.sections]

    @contextlib.contextmanager
    def _started(self, i):
        with loaded(i, self._arguments.model, self._folder) as worker:
            self._results["versions"][i.name] = worker.call("versions")
            yield worker

    def _compare(self, workers):
        """Exits unless all compute the same as the first with all layers."""
        vectors = []
        for i, worker in workers:
            path = str(self._folder / "vectors.npy")
            text = self._text[:COMPARED_SENTENCES]
            worker.call("save_vectors", sentences=text, path=path)
            vectors.append((i, np.load(path)))
        layers = next(found for _, found in vectors if len(found) > 1)
        for i, found in vectors:
            # If there is one, it is an untrained mix.
            mix = layers.mean(axis=0, keepdims=True)
            expected = mix if len(found) == 1 else layers
            difference = found - expected
            if i.precision == "float32":
                error = np.abs(difference).max() / np.abs(expected).max()
            else:
                norm = np.linalg.norm(expected, axis=(1, 2))
                error = np.linalg.norm(difference, axis=(1, 2)) / norm
            _check(i.name, np.max(error), LARGEST_ERRORS[i.precision])


def _check(name, error, limit):
    tell(f"{name}: differs by {error:.1e}")
    if not error < limit:
        sys.exit(f"{name} differs by {error:.1e}, more than {limit:.0e}.")


def make_tables(results):
    """Yields the lines of the tables, as Markdown."""
    about = [
        "/".join(map(str, results["model"])) + " (units/projection)",
        *(results["text"], results["date"], results["machine"]["cpu"]),
        f"{results['machine']['cores']} cores",
    ]
    if results["speeds"]:
        speed = machine.medians(results["speeds"])
        about += [
            f"matrix multiply {speed['float32']:,.0f} GFLOP/s in float32, "
            f"{speed['bfloat16']:,.0f} in bfloat16",
            f"memory bandwidth {speed['read']:.0f} GB/s",
        ]
    yield ", ".join(about) + "\n"
    for name, versions in results["versions"].items():
        yield f"- {name}: {json.dumps(versions)}"
    for section in ("throughput", "latency", "training"):
        if section in results:
            yield from _table(results, section)
    if "load" in results:
        yield "\n| | s to the first vector | MB |\n| --- | ---: | ---: |"
        for name, turns in results["load"].items():
            seconds, megabytes = map(statistics.median, zip(*turns))
            yield f"| {name} | {seconds:.1f} | {megabytes:,.0f} |"


def _table(results, section):
    """Yields a table of the medians, and of their ratios to each peer's."""
    found = {k: statistics.median(v) for k, v in results[section].items()}
    rows = {}
    for name, seconds in found.items():
        rows[name] = _cells(results, section, name, seconds)
        for peer in filter(found.get, PEERS):
            rows[name][f"times {peer}"] = f"{found[peer] / seconds:.2f}"
    titles = next(iter(rows.values()))
    yield f"\n| | {' | '.join(titles)} |"
    yield "| --- |" + " ---: |" * len(titles)
    for name, row in rows.items():
        yield f"| {name} | {' | '.join(row.values())} |"


def _cells(results, section, name, seconds):
    """Returns the cells of a row, by the titles of their columns."""
    speed = machine.medians(results["speeds"])  # In 1e9 a second.
    if section == "throughput":
        share = results["flops"] / seconds / speed["float32"] / 1e9
        return {
            "tokens a second": f"{results['tokens'] / seconds:,.0f}",
            "share of the peak in float32": f"{share:.0%}",
        }
    if section == "latency":
        share = results["bytes"][name] / seconds / speed["read"] / 1e9
        return {
            f"ms, one sentence of {WORDS} words": f"{1000 * seconds:.1f}",
            "share of the bandwidth": f"{share:.0%}",
        }
    title = f"ms a step, {TRAINING_SENTENCES} sentences of {WORDS} words"
    return {title: f"{1000 * seconds:,.0f}"}


if __name__ == "__main__":
    main()
