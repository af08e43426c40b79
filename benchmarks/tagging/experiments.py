"""Runs lists of trainings, each with several seeds, and reports on them.

    python benchmarks/tagging/experiments.py wnut17 DATA --output FOLDER
    python benchmarks/tagging/experiments.py ewt DATA --output FOLDER

`wnut17` learns names from DATA/train.conll, dev.conll and test.conll;
`wnut17-tuning` tries settings of two of its trainings; `ewt` learns parts of
speech from DATA/train.conllu etc. Each training is a separate process, with its
output in FOLDER/NAME/seed-N.txt. Finished trainings are skipped: after an
interruption the same command resumes. At the end, or with --report, tables and
pictures of the finished trainings are written to FOLDER: report.md, the scores
of each seed in scores.json, and curves-*.png.
"""

import argparse
import concurrent.futures
import pathlib
import subprocess
import sys
from typing import NamedTuple

from report import write_report

HERE = pathlib.Path(__file__).resolve().parent


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("experiment", choices=LISTS, help="which list to run")
    add("data", type=pathlib.Path, help="folder of the three data files")
    add("--output", type=pathlib.Path, required=True, help="folder to write to")
    add("--elmo", default="english_mini", help="name or folder of a preset; "
        "default: %(default)s")  # fmt: skip
    add("--seeds", type=int, nargs="+", help="default: those of the list")
    add("--only", nargs="+", metavar="NAME", help="run only these trainings")
    add("--jobs", type=int, default=2, help="trainings to run in parallel, "
        "with one thread each; default: 2")  # fmt: skip
    add("--quick", action="store_true", help="check that everything works")
    add("--report", action="store_true", help="only report on what is done")
    options = parser.parse_args(argv)
    good = []
    if not options.report:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            good += pool.map(run, list_runs(options))
    write_report(options.output, LISTS[options.experiment])
    if not all(good):
        sys.exit(f"{good.count(False)} of {len(good)} trainings failed.")


def list_runs(options):
    """Yields the folder, the seed and the arguments of each training."""
    chosen = LISTS[options.experiment]
    names = ("train", "dev", "test")
    train, dev, test = (options.data / f"{n}.{chosen.ending}" for n in names)
    common = [train, dev, "--test", test, "--threads", 1, *chosen.arguments]
    common += ["--elmo", options.elmo, "--layers", options.output / "layers"]
    common += ["--quick"] if options.quick else []
    # All trainings with one seed, then with the next, so that an interrupted
    # run leaves something to compare.
    for seed in options.seeds or chosen.seeds:
        for training in chosen.trainings:
            if not options.only or training.name in options.only:
                folder = options.output / training.name
                own = [*training.arguments, "--seeds", seed]
                yield folder, seed, [*common, *own, "--output", folder]


def run(training):
    """Runs a training unless it is done; returns whether it succeeded."""
    folder, seed, arguments = training
    result = folder / f"seed-{seed}" / "result.json"
    if not result.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, HERE / "train.py", *map(str, arguments)]
        with open(folder / f"seed-{seed}.txt", "w", encoding="utf-8") as log:
            subprocess.run(command, stdout=log, stderr=log)
        state = "done" if result.exists() else f"failed, see {log.name}"
        print(f"{folder.name} seed {seed}: {state}", flush=True)
    return result.exists()


class Training(NamedTuple):
    """One configuration of `train.py`."""

    name: str
    arguments: list[str]


class TrainingList(NamedTuple):
    """Trainings on the same data."""

    ending: str
    """Suffix of the data files."""
    seeds: list[int]
    arguments: list[str]
    """Arguments that all trainings share."""
    trainings: list[Training]
    baseline: str
    """The training that the others are compared to; `{last}` stands for the
    part of their names after the last hyphen."""
    control: str
    """The same for the training whose ELMo has no context."""


_BASELINE = ["--elmo-at", "none"]
_AT_INPUT = ["--elmo-at", "input"]

_WNUT17 = TrainingList(
    ending="conll",
    seeds=[1, 2, 3, 4, 5],
    arguments=["--batch-size", "16"],  # The best of the trials below.
    trainings=[
        Training("baseline", _BASELINE),
        Training("elmo-both", ["--elmo-at", "both"]),
        Training("layer-0", ["--elmo-at", "both", "--mix", "0"]),
        Training("elmo-input", ["--elmo-at", "input"]),
        Training("elmo-output", ["--elmo-at", "output"]),
        Training("baseline-no-characters", [*_BASELINE, "--no-characters"]),
    ],
    baseline="baseline",
    control="layer-0",
)

# The baseline and ELMo get the same trials.
_TRIALS = {
    "1": ["--dropout", "0.5", "--elmo-dropout", "0.5"],
    "2": ["--dropout", "0.6", "--elmo-dropout", "0.6"],
    "3": ["--learning-rate", "0.002"],
    "4": ["--learning-rate", "0.002", "--dropout", "0.6",
          "--elmo-dropout", "0.6"],
    "5": ["--batch-size", "16"],
}  # fmt: skip

# Ways to combine ELMo's layers, besides unregularized learned weights.
_MIXES = {
    "layer-0": ["--mix", "0"],
    "layer-1": ["--mix", "1"],
    "layer-2": ["--mix", "2"],
    "average": ["--mix", "average"],
    "l2-0.001": ["--mix-l2", "0.001"],
    "l2-1": ["--mix-l2", "1"],
}
# By percentage of the training sentences. Fewer sentences give shorter epochs.
_SIZES = {
    "1": ["--fraction", "0.01", "--evaluate-every", "40", "--epochs", "400"],
    "10": ["--fraction", "0.1", "--evaluate-every", "40", "--epochs", "50"],
    "100": ["--evaluate-every", "200", "--epochs", "15"],
}
# Probes of what the layers encode: only a dense layer and a CRF follow them.
_PROBE = ["--no-words", "--no-characters", "--units", "0"]


def _part_of_speech():
    trainings = []
    for percent, size in _SIZES.items():
        for name, place in (("baseline", _BASELINE), ("elmo", _AT_INPUT)):
            trainings.append(Training(f"{name}-{percent}", [*place, *size]))
    for name, mix in _MIXES.items():
        arguments = [*_AT_INPUT, *mix, *_SIZES["10"]]
        trainings.append(Training(f"{name}-10", arguments))
    for name in ("layer-0", "layer-1", "layer-2", "average"):
        arguments = [*_AT_INPUT, *_MIXES[name], *_PROBE, *_SIZES["100"]]
        trainings.append(Training(f"probe-{name}-100", arguments))
    return trainings


LISTS = {
    "wnut17": _WNUT17,
    "wnut17-tuning": _WNUT17._replace(
        seeds=[1],
        arguments=[],
        trainings=[
            Training(f"{name}-{trial}", [*arm, *arguments])
            for trial, arguments in _TRIALS.items()
            for name, arm in (("baseline", _BASELINE), ("elmo-both", []))
        ],
        baseline="baseline-{last}",
    ),
    "ewt": TrainingList(
        ending="conllu",
        seeds=[1, 2, 3],
        arguments=[],
        trainings=_part_of_speech(),
        baseline="baseline-{last}",
        control="layer-0-{last}",
    ),
}


if __name__ == "__main__":
    main()
