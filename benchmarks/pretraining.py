"""Compares pretraining with bilm-tf: the same model, data and window, in turns.

    python benchmarks/pretraining.py --train "corpus/*.txt" \\
        --vocabulary vocab.txt --options options.json --output out.json \\
        --bilm-tf-python PYTHON

`options.json` has bilm-tf's format, with `batch_size`, `unroll_steps` and
`n_negative_samples_batch`. Each package trains in its own process with its own
full training loop, and waits while the other has its turn.
"""

import json
import pathlib
import statistics
import sys
import tempfile

import machine
from pretraining_runs import PausedTraining
from program import begin_results
from program import make_parser
from program import write_results
from worker import Worker
from worker import tell

OURS, THEIRS = "keras-elmo", "bilm-tf"


def main():
    arguments = parse_arguments()
    options = json.loads(pathlib.Path(arguments.options).read_text())
    updates = arguments.updates
    tokens = options["batch_size"] * options["unroll_steps"] * updates
    names = ("train", "vocabulary", "options")
    flags = {name: vars(arguments)[name] for name in names}
    results = begin_results(
        options=options,
        dtype=arguments.dtype,
        tokens_per_turn=tokens,
        seconds={},
        speeds=[],
    )
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        gauge = Worker(sys.executable, "machine.py", folder / "machine.log")
        runs = {}
        if arguments.bilm_tf_python:
            peer = Worker(
                *(arguments.bilm_tf_python, "peer_worker.py"),
                folder / "bilm-tf.log",
            )
            runs[THEIRS] = lambda: peer.call(
                "train_bilm_tf", **flags, updates=updates
            )
            runs[THEIRS]()  # Not timed: builds graphs.
        training = PausedTraining(
            folder / "ours", updates, {**flags, "dtype": arguments.dtype}
        )
        runs[OURS] = training.run
        for turn in range(arguments.turns):
            results["speeds"].append(gauge.call("measure"))
            for name, run in runs.items():
                results["seconds"].setdefault(name, []).append(run())
                speed = tokens / results["seconds"][name][-1]
                tell(f"turn {turn + 1}: {name} {speed:,.0f} tokens/s")
        training.close()
    write_results(arguments.output, results)
    summarise(results)


def summarise(results):
    peak = machine.medians(results["speeds"])["float32"]
    print(f"float32 matrix multiply of this machine: {peak:.0f} GFLOP/s")
    tokens = results["tokens_per_turn"]
    medians = {k: statistics.median(v) for k, v in results["seconds"].items()}
    for name, seconds in medians.items():
        print(f"{name}: {tokens / seconds:,.0f} tokens/s")
    if THEIRS in medians:
        ratio = medians[THEIRS] / medians[OURS]
        print(f"{OURS} is {ratio:.2f} times as fast")


def parse_arguments():
    parser = make_parser(__doc__)
    parser.add_argument("--train", required=True, help="glob of the shards")
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--options", required=True)
    parser.add_argument("--output", required=True, help="JSON file to write")
    parser.add_argument("--bilm-tf-python", help="a Python that has bilm-tf")
    parser.add_argument("--dtype", default="float32", help="of this package")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--updates", type=int, default=20, help="per turn")
    return parser.parse_args()


if __name__ == "__main__":
    main()
