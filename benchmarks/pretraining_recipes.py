"""Compares sizes and settings of a language model trained for equal time.

    python benchmarks/pretraining_recipes.py --train "corpus/*.txt.gz" \\
        --heldout dev.txt --vocabulary vocab.txt --seconds 300 --output FOLDER

First the recipes train some steps in turns, to measure the speed of each on the
whole machine. Then each runs its full schedule, with as many steps as it would
complete in `--seconds` at that speed. These trainings run `--jobs` at a time
with one core each; the number of steps is fixed, so their duration does not
matter. After an interruption, the same command resumes. FOLDER/results.json has
each recipe's results, with the perplexity on the held-out text.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

import machine
from pretraining_runs import PausedTraining
from pretraining_runs import pretrain_command
from worker import tell

# By name: the LSTMs' units, their projection, and flags that differ from BASE.
RECIPES = {
    "512/128": (512, 128, {}),
    "1024/128": (1024, 128, {}),
    "512/256": (512, 256, {}),
    "768/192": (768, 192, {}),
    "batch 64": (768, 192, {"batch-size": 64}),
    "batch 256": (768, 192, {"batch-size": 256}),
    "rate 0.002": (768, 192, {"learning-rate": 0.002}),
    "rate 0.005": (768, 192, {"learning-rate": 0.005}),
    "512 negatives": (768, 192, {"negatives": 512}),
    "8192 negatives": (768, 192, {"negatives": 8192}),
    "no dropout": (768, 192, {"dropout": 0}),
    "float32": (768, 192, {"dtype": "float32"}),
}
BASE = {
    "recipe": "laptop",
    "batch-size": 128,
    "unroll-steps": 20,
    "negatives": 2048,
    "learning-rate": 0.003,
    "warmup-steps": 50,
    "reset-rate": 0.05,
    "dropout": 0.1,
    "dtype": "mixed_bfloat16",
}
OPTIONS = {
    "char_cnn": {
        "activation": "relu",
        "embedding": {"dim": 16},
        "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256]],
        "max_characters_per_token": 50,
        "n_characters": 261,
        "n_highway": 1,
    },
    "lstm": {
        "cell_clip": 3,
        "n_layers": 2,
        "proj_clip": 3,
        "use_skip_connections": True,
    },
}


def main():
    arguments = parse_arguments()
    folder = pathlib.Path(arguments.output)
    folder.mkdir(parents=True, exist_ok=True)
    results_file = folder / "results.json"
    results = {"machine": machine.describe(), "recipes": {}}
    if results_file.exists():
        results = json.loads(results_file.read_text())
    found = results["recipes"]

    def save(name, **result):
        found[name] = {**found.get(name, {}), **result}
        results_file.write_text(json.dumps(results, indent=1))

    flags = {name: make_flags(name, arguments, folder) for name in RECIPES}
    unknown = {name: flags[name] for name in RECIPES if name not in found}
    for name, speed in measure_speeds(unknown, arguments).items():
        units, projection_dim, changed = RECIPES[name]
        sizes = {"units": units, "projection_dim": projection_dim}
        save(name, **sizes, flags=changed, tokens_per_second=speed)
    seconds = arguments.seconds

    def train_one(name):
        window = tokens_of_step(flags[name])
        steps = round(seconds * found[name]["tokens_per_second"] / window)
        # With another `--seconds`, a training in the same folder would go on
        # where the other ended.
        output = folder / f"{file_name(name)}-{seconds:g}"
        return {
            "seconds": seconds,
            "steps": steps,
            "tokens": steps * window,
            "perplexity": train(flags[name], steps, arguments.heldout, output),
        }

    cores = itertools.cycle(sorted(os.sched_getaffinity(0)))
    with concurrent.futures.ThreadPoolExecutor(
        arguments.jobs, initializer=take_core, initargs=(cores,)
    ) as pool:
        for name, result in zip(RECIPES, pool.map(train_one, RECIPES)):
            save(name, **result)
            tell(f"{name}: {result}")
    print("| recipe | tokens/s | tokens | perplexity |")
    print("| --- | ---: | ---: | ---: |")
    for name, result in found.items():
        print(
            f"| {name} | {result['tokens_per_second']:,.0f} | "
            f"{result['tokens'] / 1e6:.2f} M | {result['perplexity']:.0f} |"
        )


def make_flags(name, arguments, folder):
    """Returns the flags for `keras-elmo pretrain`, by name."""
    units, projection_dim, changed = RECIPES[name]
    lstm = {**OPTIONS["lstm"], "dim": units, "projection_dim": projection_dim}
    options = folder / f"{file_name(name)}.json"
    options.write_text(json.dumps({**OPTIONS, "lstm": lstm}))
    return {
        "train": arguments.train,
        "vocabulary": arguments.vocabulary,
        "options": str(options),
        **BASE,
        **changed,
    }


def tokens_of_step(flags):
    return flags["batch-size"] * flags["unroll-steps"]


def measure_speeds(flags, arguments):
    """Returns each recipe's tokens per second, the median of its turns."""
    with tempfile.TemporaryDirectory() as folder:
        trainings = {}
        for name in flags:
            output = pathlib.Path(folder, file_name(name))
            trainings[name] = PausedTraining(
                output, arguments.updates, flags[name]
            )
            tell(f"{name} is ready")
        speeds = {name: [] for name in flags}
        for _ in range(arguments.turns):
            for name, training in trainings.items():
                tokens = arguments.updates * tokens_of_step(flags[name])
                speeds[name].append(tokens / training.run())
        for training in trainings.values():
            training.close()
    return {name: statistics.median(found) for name, found in speeds.items()}


def train(flags, steps, heldout, output):
    """Trains or resumes, and returns the final held-out perplexity."""
    command = pretrain_command(
        {
            **flags,
            "output": output,
            "heldout": heldout,
            "steps": steps,
            "evaluate-every": steps,
        }
    )
    with open(f"{output}.log", "a") as log:
        subprocess.run(command, check=True, stdout=log, stderr=log)
    lines = (output / "log.jsonl").read_text().splitlines()
    return json.loads(lines[-1])["heldout_perplexity"]


def take_core(cores):
    """Binds this thread, and the processes that it starts, to one core."""
    os.sched_setaffinity(0, {next(cores)})


def file_name(name):
    return name.replace("/", "-").replace(" ", "-")


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--train", required=True, help="glob of the shards")
    parser.add_argument("--heldout", required=True)
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--output", required=True, help="folder to write to")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--updates", type=int, default=8, help="per turn")
    return parser.parse_args()


if __name__ == "__main__":
    main()
