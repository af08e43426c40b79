"""Compares ways to train after the same time: Adam and Muon, by default.

    python benchmarks/recipes.py work --text 'train/*' --heldout heldout.txt \\
        --minutes 10 60 --output recipes.json -- --recipe laptop \\
        --vocabulary vocab.txt

The flags after `--`, each with a value, are those of every `keras-elmo
pretrain`. First, the speed of each recipe is measured, in turns. A training
then has as many steps as the recipe makes in the minutes, and its own schedule.
So the results do not depend on what else the machine does, and trainings can
run beside each other: the same command with another --seeds, --minutes or
--only. Interrupted, it resumes; a training that is finished is only read.
Results are of all that are finished.
"""

import itertools
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

from pretraining_runs import PausedTraining
from pretraining_runs import pretrain_command
from program import begin_results
from program import make_parser
from program import write_results
from worker import tell

RECIPES = {
    "adam": {"optimizer": "adam", "batch-size": 32, "learning-rate": 0.004},
    "muon": {"optimizer": "muon", "batch-size": 32, "learning-rate": 0.004},
}
UNROLL_STEPS = 20
TURNS, UPDATES = 7, 30
EVALUATIONS = 12


def main():
    arguments = parse_arguments()
    folder = pathlib.Path(arguments.folder)
    folder.mkdir(exist_ok=True)
    speeds = read_speeds(folder, arguments)
    medians = {name: statistics.median(x) for name, x in speeds.items()}
    for minutes, seed, name in itertools.product(
        arguments.minutes, arguments.seeds, arguments.only
    ):
        steps = round(60 * minutes * medians[name] / tokens_per_step(name))
        train(folder / f"{name}-{minutes}-{seed}", steps, seed, name, arguments)
    if arguments.output:
        curves = {
            path.parent.name: read_curve(path, medians)
            for path in sorted(folder.glob("*/log.jsonl"))
        }
        results = begin_results(
            recipes=RECIPES,
            flags=arguments.flags,
            tokens_per_second=speeds,
            curves={name: curve for name, curve in curves.items() if curve},
        )
        write_results(arguments.output, results)
        if arguments.picture:
            draw(results["curves"], max(arguments.minutes), arguments.picture)


def read_speeds(folder, arguments):
    """Returns the tokens per second of each turn, measured only once."""
    path = folder / "speeds.json"
    if not path.exists():
        with tempfile.TemporaryDirectory() as temporary:
            speeds = measure_speeds(pathlib.Path(temporary), arguments)
        path.write_text(json.dumps(speeds))
    return json.loads(path.read_text())


def measure_speeds(folder, arguments):
    runs = {
        name: PausedTraining(
            folder / name, UPDATES, arguments.text, arguments.flags | recipe
        )
        for name, recipe in RECIPES.items()
    }
    speeds = {name: [] for name in RECIPES}
    for turn, (name, run) in itertools.product(range(TURNS), runs.items()):
        speeds[name].append(UPDATES * tokens_per_step(name) / run.run())
        tell(f"turn {turn + 1}: {name} {speeds[name][-1]:,.0f} tokens/s")
    for run in runs.values():
        run.close()
    return speeds


def tokens_per_step(name):
    return RECIPES[name]["batch-size"] * UNROLL_STEPS


def train(folder, steps, seed, name, arguments):
    """Trains a model, or goes on with it."""
    flags = {
        **arguments.flags,
        **RECIPES[name],
        "heldout": arguments.heldout,
        "steps": steps,
        "evaluate-every": -(-steps // EVALUATIONS),
        "seed": seed,
    }
    command = pretrain_command(arguments.text, folder, flags)
    subprocess.run(command, check=True)


def read_curve(log, medians):
    """Returns the perplexities of a finished training, by minutes."""
    name, minutes, _ = log.parent.name.split("-")
    entries = map(json.loads, log.read_text().splitlines())
    curve = [
        [entry["tokens"] / medians[name] / 60, entry["heldout_perplexity"]]
        for entry in entries
        if "heldout_perplexity" in entry
    ]
    return curve if curve and curve[-1][0] > float(minutes) - 0.1 else None


def draw(curves, minutes, path):
    """Draws the longest trainings, with a colour for each recipe."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for number, recipe in enumerate(RECIPES):
        label = recipe.title()
        for name, curve in curves.items():
            if name.startswith(f"{recipe}-{minutes}-"):
                axes.plot(
                    *zip(*curve), f"C{number}.-", label=label, linewidth=1
                )
                label = None  # Once in the legend.
    axes.set_xlabel("minutes of training on two cores")
    axes.set_ylabel("held-out perplexity")
    axes.grid(True, color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def parse_arguments():
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("folder", help="folder for the trainings; resumes what is there")
    add("--text", required=True, help="glob of the shards")
    add("--heldout", required=True)
    add("--minutes", nargs="+", type=int, default=[10])
    add("--seeds", nargs="+", type=int, default=[0, 1])
    add("--only", nargs="+", choices=RECIPES, default=list(RECIPES))
    add("--output", help="JSON file to write")
    add("--picture", help="with --output: PNG file of the longest trainings")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    arguments = parser.parse_args(sys.argv[1:end])
    after = [text.removeprefix("--") for text in sys.argv[end + 1 :]]
    arguments.flags = dict(zip(after[::2], after[1::2], strict=True))
    return arguments


if __name__ == "__main__":
    main()
