"""Compares this package with other ELMo implementations; see README.md."""

import argparse
import datetime
import json
import pathlib
import tempfile

import machine
import report
import sections
from bench import Bench
from implementations import find_implementations

# The sections that share processes, in this order.
RUNNING = ("throughput", "latency", "growth")
SECTIONS = ("machine", *RUNNING, "memory", "load", "training")

QUICK = {
    "sentences": 32,
    "turns": 1,
    "latency_repeats": 5,
    "growth_tokens": 320,
    "growth_corpus": 1024,
    "training_steps": 1,
}


def main():
    arguments = parse_arguments()
    output = pathlib.Path(arguments.output)
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        implementations = find_implementations(arguments, folder)
        with Bench(arguments, folder, implementations) as bench:
            bench.results.update(describe(bench))
            for measure in steps(arguments.only):
                measure(bench)
                text = json.dumps(bench.results, indent=1)
                (output / "results.json").write_text(text + "\n")
    report.write(output)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--model", required=True, help="folder of the biLM")
    add("--text", required=True, help="CoNLL-U, or one sentence per line")
    add("--output", required=True, help="folder to write the results to")
    add("--allennlp-python", help="a Python that has AllenNLP")
    add("--bilm-tf-python", help="a Python that has bilm-tf")
    add("--simple-elmo-python", help="a Python that has simple_elmo")
    add("--only", nargs="+", choices=SECTIONS, default=SECTIONS)
    add("--turns", type=int, default=3)
    add("--sentences", type=int, default=192, help="for the throughput")
    add("--latency-repeats", type=int, default=20, help="calls of each")
    add("--growth-tokens", type=int, default=5120, help="tokens per point")
    add("--growth-corpus", type=int, default=32768, help="tokens for the "
        "batch_tokens curve")  # fmt: skip
    add("--training-steps", type=int, default=5)
    add("--quick", action="store_true", help="only check that all of it works")
    arguments = parser.parse_args()
    if arguments.quick:
        vars(arguments).update(QUICK)
    return arguments


def describe(bench):
    """Describes what the numbers depend on."""
    arguments = bench.arguments
    return {
        "date": datetime.date.today().isoformat(),
        "machine": machine.describe(),
        "model": bench.model.describe(),
        "text": pathlib.Path(arguments.text).name,
        "only": list(arguments.only),
        "turns": arguments.turns,
    }


def steps(only):
    """Yields the functions to call with a `Bench`, in order."""
    if "machine" in only:
        yield Bench.measure_machine
    wanted = [name for name in RUNNING if name in only]
    if "memory" in only and "throughput" not in only:
        wanted.insert(0, "throughput")  # Memory is measured in its passes.
    together = [*wanted, *(["load"] if "load" in only else [])]
    if together:
        yield lambda bench: sections.start(bench, bench.of(*together))
        yield from (getattr(sections, name) for name in wanted)
        yield Bench.close_workers
    if "load" in only:
        yield sections.load
    if "training" in only:
        yield sections.training
    if "machine" in only:
        yield Bench.measure_machine


if __name__ == "__main__":
    main()
