"""Compares sizes and settings of a language model trained for equal time.

    python benchmarks/pretraining_recipes.py --train "corpus/*.txt.gz" \\
        --heldout dev.txt --vocabulary vocab.txt --seconds 300 --output FOLDER

First the recipes train some steps in turns, to measure the speed of each on the
whole machine. Then each runs its full schedule, with as many steps as it would
complete in `--seconds` at that speed. These trainings run `--jobs` at a time
with one thread each; the number of steps is fixed, so their duration does not
matter. Recipes that are finished with the same `--seconds` are skipped, so the
same command resumes after an interruption. FOLDER/results.json has the latest
result of each recipe, with the perplexity on the held-out text.
"""

import argparse
import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import sys
from typing import NamedTuple

import machine
from bench import tell
from implementations import Worker
from worker_pretrain_keras_elmo import typed

BASE = {
    "batch-size": 128,
    "negatives": 2048,
    "learning-rate": 0.003,
    "warmup-steps": 50,
    "reset-rate": 0.05,
    "dropout": 0.1,
    "dtype": "mixed_bfloat16",
}


class Recipe(NamedTuple):
    """One row of the table."""

    units: int = 768
    projection_dim: int = 192
    flags: dict = {}
    """Flags that differ from `BASE`."""


_BEST = {"batch-size": 64, "learning-rate": 0.004, "dropout": 0}
RECIPES = {
    "512/128": Recipe(512, 128),
    "1024/128": Recipe(1024, 128),
    "512/256": Recipe(512, 256),
    "768/192": Recipe(),
    "batch 64": Recipe(flags={"batch-size": 64}),
    "batch 256": Recipe(flags={"batch-size": 256}),
    "rate 0.002": Recipe(flags={"learning-rate": 0.002}),
    "rate 0.005": Recipe(flags={"learning-rate": 0.005}),
    "512 negatives": Recipe(flags={"negatives": 512}),
    "8192 negatives": Recipe(flags={"negatives": 8192}),
    "no dropout": Recipe(flags={"dropout": 0}),
    "float32": Recipe(flags={"dtype": "float32"}),
    # The best of the above combined, for other values of `--seconds`.
    "512/128, the best": Recipe(512, 128, _BEST),
    "512/256, the best": Recipe(512, 256, _BEST),
    "768/192, the best": Recipe(768, 192, _BEST),
}


def main():
    arguments = parse_arguments()
    folder = pathlib.Path(arguments.output)
    folder.mkdir(parents=True, exist_ok=True)
    results_file = folder / "results.json"
    results = {"machine": machine.describe(), "recipes": {}}
    if results_file.exists():
        results = json.loads(results_file.read_text())
    names = arguments.only or list(RECIPES)
    found = results["recipes"]
    flags = {name: make_flags(name, arguments, folder) for name in names}
    unknown = [name for name in names if name not in found]
    for name, speed in measure_speeds(unknown, flags, arguments, folder):
        found[name] = {**RECIPES[name]._asdict(), "tokens_per_second": speed}
    results_file.write_text(json.dumps(results, indent=1))
    seconds = arguments.seconds
    todo = [name for name in names if found[name].get("seconds") != seconds]

    def train_one(name):
        window = tokens_of_step(flags[name])
        speed = found[name]["tokens_per_second"]
        steps = round(seconds * speed / window)
        # With another `--seconds`, a training in the same folder would go on
        # where the other ended.
        output = folder / f"{file_name(name)}-{seconds:g}"
        perplexity = train(flags[name], steps, arguments.heldout, output)
        return name, steps, steps * window, perplexity

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for future in concurrent.futures.as_completed(
            [pool.submit(train_one, name) for name in todo]
        ):
            name, steps, tokens, perplexity = future.result()
            found[name] |= {
                "seconds": seconds,
                "steps": steps,
                "tokens": tokens,
                "perplexity": perplexity,
            }
            results_file.write_text(json.dumps(results, indent=1))
            tell(f"{name}: {tokens:,} tokens, perplexity {perplexity:.1f}")
    print_table({name: found[name] for name in names})


def make_flags(name, arguments, folder):
    """Returns the flags for `keras-elmo pretrain`, by name."""
    from keras_elmo.pretraining.settings import RECIPES as PACKAGE_RECIPES

    recipe = RECIPES[name]
    laptop = PACKAGE_RECIPES["laptop"]
    lstm = {
        **laptop.options["lstm"],
        "dim": recipe.units,
        "projection_dim": recipe.projection_dim,
    }
    options = folder / f"{file_name(name)}.json"
    options.write_text(json.dumps({**laptop.options, "lstm": lstm}))
    return {
        "train": arguments.train,
        "vocabulary": arguments.vocabulary,
        "options": str(options),
        "recipe": "laptop",
        "unroll-steps": laptop.unroll_steps,
        **BASE,
        **recipe.flags,
    }


def tokens_of_step(flags):
    return flags["batch-size"] * flags["unroll-steps"]


def measure_speeds(names, flags, arguments, folder):
    """Returns pairs of a recipe's name and its tokens per second."""
    workers = {}
    for name in names:
        program = "worker_pretrain_keras_elmo.py"
        log = folder / f"{file_name(name)}.log"
        workers[name] = Worker(name, sys.executable, program, log)
        workers[name].call("start", **flags[name])
        workers[name].call("train", updates=2)  # Not timed: builds graphs.
        tell(f"{name} is ready")
    speeds = {name: [] for name in names}
    for _ in range(arguments.turns):
        for name, worker in workers.items():
            seconds = worker.call("train", updates=arguments.updates)
            tokens = arguments.updates * tokens_of_step(flags[name])
            speeds[name].append(tokens / seconds)
    for worker in workers.values():
        worker.close()
    return [(name, statistics.median(speeds[name])) for name in names]


def train(flags, steps, heldout, output):
    """Trains or resumes, and returns the final held-out perplexity."""
    flags = {
        **flags,
        "output": output,
        "heldout": heldout,
        "steps": steps,
        "evaluate-every": steps,
    }
    # On one processor.
    command = ["taskset", "--cpu-list", "0", sys.executable]
    command += ["-m", "keras_elmo", "pretrain", *typed(flags)]
    with open(f"{output}.log", "a") as log:
        subprocess.run(command, check=True, stdout=log, stderr=log)
    lines = (output / "log.jsonl").read_text().splitlines()
    return json.loads(lines[-1])["heldout_perplexity"]


def print_table(found):
    print("| recipe | seconds | tokens/s | tokens | perplexity |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, result in found.items():
        print(
            f"| {name} | {result['seconds']:.0f} | "
            f"{result['tokens_per_second']:,.0f} | "
            f"{result['tokens'] / 1e6:.2f} M | {result['perplexity']:.1f} |"
        )


def file_name(name):
    return name.replace("/", "-").replace(", ", "-").replace(" ", "-")


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
    parser.add_argument("--only", nargs="+", choices=RECIPES, metavar="NAME")
    return parser.parse_args()


if __name__ == "__main__":
    main()
