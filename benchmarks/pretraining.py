"""Compares pretraining with bilm-tf: the same model, data and window, in turns.

    python benchmarks/pretraining.py --train "corpus/*.txt" \\
        --vocabulary vocab.txt --options options.json --output out.json \\
        --bilm-tf-python PYTHON

`options.json` has bilm-tf's format, with `batch_size`, `unroll_steps` and
`n_negative_samples_batch`. Each package trains in its own process with its own
full training loop, and waits while the other has its turn.
"""

import argparse
import datetime
import json
import pathlib
import statistics
import sys
import tempfile

import machine
from bench import tell
from implementations import Worker

OURS = "keras-elmo"
THEIRS = "bilm-tf"


def main():
    arguments = parse_arguments()
    options = json.loads(pathlib.Path(arguments.options).read_text())
    tokens = options["batch_size"] * options["unroll_steps"] * arguments.updates
    settings = {
        name: getattr(arguments, name)
        for name in ("train", "vocabulary", "options", "dtype")
    }
    results = {
        "date": str(datetime.date.today()),
        "machine": machine.describe(),
        "options": options,
        "dtype": arguments.dtype,
        "tokens_per_turn": tokens,
        "seconds": {},
        "speeds": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        gauge = Worker(
            "machine", sys.executable, "machine.py", folder / "machine.log"
        )
        workers = {}
        for name, python, program in (
            (THEIRS, arguments.bilm_tf_python, "worker_pretrain_bilm_tf.py"),
            (OURS, sys.executable, "worker_pretrain_keras_elmo.py"),
        ):
            if python:
                worker = Worker(name, python, program, folder / f"{name}.log")
                seconds = worker.call("start", **settings)
                worker.call("train", updates=2)  # Not timed: builds graphs.
                tell(f"{name} started in {seconds:.0f} s")
                workers[name] = worker
        for turn in range(arguments.turns):
            results["speeds"].append(gauge.call("measure"))
            for name, worker in workers.items():
                seconds = worker.call("train", updates=arguments.updates)
                results["seconds"].setdefault(name, []).append(seconds)
                speed = tokens / seconds
                tell(f"turn {turn + 1}: {name} {speed:,.0f} tokens/s")
        for worker in (*workers.values(), gauge):
            worker.close()
    content = json.dumps(results, indent=1)
    pathlib.Path(arguments.output).write_text(content + "\n")
    summarise(results)


def summarise(results):
    peak = statistics.median(
        max(speed["float32_numpy"], speed["float32_tensorflow"])
        for speed in results["speeds"]
    )
    print(f"float32 matrix multiply of this machine: {peak:.0f} GFLOP/s")
    tokens = results["tokens_per_turn"]
    for name, seconds in results["seconds"].items():
        print(f"{name}: {tokens / statistics.median(seconds):,.0f} tokens/s")
    if len(results["seconds"]) == 2:
        pairs = zip(results["seconds"][THEIRS], results["seconds"][OURS])
        ratio = statistics.median(theirs / ours for theirs, ours in pairs)
        print(f"{OURS} is {ratio:.2f} times as fast (median of the turns)")


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--train", required=True, help="glob of the shards")
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--options", required=True)
    parser.add_argument("--output", required=True, help="JSON file to write")
    parser.add_argument("--bilm-tf-python", help="a Python that has bilm-tf")
    parser.add_argument(
        "--dtype", default="float32", help="for this package. Default: float32"
    )
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--updates", type=int, default=20, help="per turn")
    return parser.parse_args()


if __name__ == "__main__":
    main()
