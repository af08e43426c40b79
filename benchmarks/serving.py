"""Measures exported models: requests from many threads, and the export itself.

    python benchmarks/serving.py --text dev.conllu --output serving.json

Each section runs in its own processes; see README.md.
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile

from program import begin_results
from program import make_parser
from program import write_results
from worker import Worker
from workloads import read_sentences
from workloads import sentence_of

QUICK = {"requests": 40, "round": 20, "size": "small"}


def main():
    arguments = parse_arguments()
    results = begin_results(arguments=vars(arguments))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for section in arguments.only:
            measure, describe = SECTIONS[section]
            log = folder / f"{section}.log"
            with Worker(sys.executable, "own_worker.py", log) as worker:
                results[section] = measure(arguments, worker, folder)
            for what, value in describe(results[section]):
                print(f"| {what} | {value} |")
    if arguments.output:
        write_results(arguments.output, results)


def parse_arguments():
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("--text", required=True, help="CoNLL-U, or one sentence per line")
    add("--output", help="JSON file to write")
    add("--model", default="english_tiny", help="model for keras-elmo export")
    add("--size", default="original", help="model size for the export section")
    add("--only", nargs="+", choices=SECTIONS, default=[*SECTIONS])
    add("--requests", type=int, default=1000)
    add("--threads", type=int, default=8)
    add("--largest", type=int, default=64, help="most sentences in a request")
    add("--round", type=int, default=100, help="requests between two checks")
    add("--quick", action="store_true", help="only check that all of it works")
    arguments = parser.parse_args()
    if arguments.quick:
        vars(arguments).update(QUICK)
    return arguments


def measure_concurrency(arguments, worker, folder):
    served = str(folder / "served")
    command = ["-m", "keras_elmo", "export", arguments.model, served]
    subprocess.run([sys.executable, *command], check=True, stdout=sys.stderr)
    sentences = read_sentences(arguments.text)
    sentence = sentence_of(20, sentences)
    steps = worker.call("first_answer", folder=served, sentence=sentence)
    found = worker.call(
        "serve",
        sentences=sentences,
        requests=arguments.requests,
        threads=arguments.threads,
        largest=arguments.largest,
        round_size=arguments.round,
    )
    return {**found, "cold_start": steps}


def describe_concurrency(found):
    yield "answers", len(found["together"])
    yield "of them wrong", found["wrong"]
    yield "largest difference", f"{found['difference']:.1e}"
    for name in ("together", "alone"):
        cuts = statistics.quantiles(found[name], n=100)
        yield f"{name}: p50, ms", f"{1000 * cuts[49]:.0f}"
        yield f"{name}: p99, ms", f"{1000 * cuts[98]:.0f}"
    memory = [f"{x:,.0f}" for x in found["megabytes"]]
    yield "MB after each round", " ".join(memory)
    for name, seconds in found["cold_start"].items():
        yield f"cold start: {name}, s", f"{seconds:.2f}"


def measure_export(arguments, worker, folder):
    return worker.call("export_size", size=arguments.size)


def describe_export(found):
    yield "export, s", f"{found['seconds']:.1f}"
    yield "peak memory, GiB", f"{found['peak_gib']:.2f}"
    yield "SavedModel, MiB", f"{found['mib']:,.1f}"
    yield "relative to its weights", f"{found['times_the_weights']:.4f}"


SECTIONS = {
    "concurrency": (measure_concurrency, describe_concurrency),
    "export": (measure_export, describe_export),
}


if __name__ == "__main__":
    main()
