"""Runs lists of trainings, each with several seeds, and reports on them.

    python benchmarks/tagging/experiments.py wnut17 DATA --output FOLDER
    python benchmarks/tagging/experiments.py ewt DATA --output FOLDER

`wnut17` finds names, in DATA/train.conll, dev.conll and test.conll, and
`wnut17-tuning` tries settings of two of its trainings; `ewt` finds parts of
speech, in DATA/train.conllu and so on. Each training is a process of
its own, with its output in FOLDER/NAME/seed-N/log.txt. What is done is skipped:
after an interruption the same command goes on. At the end, or with --report,
tables and pictures of what is done are written to FOLDER: report.md, sizes.png
(the paper's figure 1), layers.png (figure 2) and curves-*.png.
"""

import argparse
import concurrent.futures
import os
import pathlib
import shlex
import subprocess
import sys
import threading
import time
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent


def main(argv=None):
    options = parse_arguments(argv)
    runs = list_runs(options)
    if options.list:
        for folder, command in runs:
            done = "done" if is_done(folder) else "to do"
            print(f"[{done}] {shlex.join(map(str, command))}")
        return
    failed = [] if options.report else run_all(runs, options.jobs)
    from report import write_report

    write_report(options.output, LISTS[options.experiment])
    if failed:
        sys.exit(f"{len(failed)} of {len(runs)} trainings failed.")


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("experiment", choices=LISTS, help="which list to run")
    add("data", type=pathlib.Path, help="folder of its three files")
    add("--output", type=pathlib.Path, required=True, help="folder to write")
    add("--elmo", default="english_tiny", help="preset's name or folder; "
        "default: english_tiny")  # fmt: skip
    add("--seeds", type=int, nargs="+", help="default: those of the list")
    add("--only", nargs="+", metavar="NAME", help="only these trainings")
    add("--jobs", type=int, default=2, help="trainings side by side, of one "
        "thread each; default: 2")  # fmt: skip
    add("--quick", action="store_true", help="a look whether all works")
    add("--list", action="store_true", help="show the commands alone")
    add("--report", action="store_true", help="report on what is done alone")
    options = parser.parse_args(argv)
    names = [training.name for training in LISTS[options.experiment].trainings]
    for name in options.only or []:
        if name not in names:
            parser.error(f"--only must name some of {names}. "
                         f"Received: {name!r}")  # fmt: skip
    return options


def list_runs(options):
    """Returns pairs of a seed's folder and the command that fills it."""
    chosen = LISTS[options.experiment]
    files = [options.data / f"{n}.{chosen.ending}" for n in ("train", "dev")]
    test = options.data / f"test.{chosen.ending}"
    common = ["--test", test, "--threads", "1", *chosen.arguments]
    common += ["--quick"] if options.quick else []
    runs = []
    # All trainings with one seed, then with the next: an early end leaves
    # something to compare.
    for seed in options.seeds or chosen.seeds:
        for training in chosen.trainings:
            if options.only and training.name not in options.only:
                continue
            folder = options.output / training.name
            command = [sys.executable, HERE / "train.py", *files, *common]
            if training.uses_elmo:
                command += ["--elmo", options.elmo]
                command += ["--precompute", options.output / "layers"]
            command += [*training.arguments, "--seeds", seed]
            runs.append(
                (folder / f"seed-{seed}", [*command, "--output", folder])
            )
    return runs


def run_all(runs, jobs):
    """Runs commands side by side; returns the folders of those that failed."""
    todo = [run for run in runs if not is_done(run[0])]
    print(f"{len(runs)} trainings, {len(runs) - len(todo)} of them done")
    processes = Processes()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(processes.run, *run) for run in todo]
        try:
            good = [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            processes.stop()
            print("Interrupted. The same command goes on from here.")
            raise
    return [folder for (folder, _), ok in zip(todo, good) if not ok]


def is_done(folder):
    """Whether a training has ended: it writes its result last."""
    return (folder / "result.json").exists()


class Processes:
    """Processes that run side by side, and can all be stopped."""

    def __init__(self):
        self._running = set()
        self._stopped = False
        self._lock = threading.Lock()

    def run(self, folder, command):
        """Runs a command with a log; returns whether it went well."""
        folder.mkdir(parents=True, exist_ok=True)
        start = time.monotonic()
        with open(folder / "log.txt", "w", encoding="utf-8") as log:
            with self._lock:
                if self._stopped:
                    return False
                process = subprocess.Popen(
                    [str(part) for part in command],
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, "PYTHONUNBUFFERED": "1"},
                )
                self._running.add(process)
            code = process.wait()
        with self._lock:
            self._running.discard(process)
        good = code == 0 and is_done(folder)
        state = "done" if good else f"failed ({code}), see {folder}/log.txt"
        name = f"{folder.parent.name} {folder.name}"
        print(f"{name}: {state}, {time.monotonic() - start:.0f} s", flush=True)
        return good

    def stop(self):
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.terminate()


class Training(NamedTuple):
    """One configuration of `train.py`."""

    name: str
    arguments: list[str]

    @property
    def uses_elmo(self):
        return "none" not in self.arguments


class TrainingList(NamedTuple):
    """Trainings on the same data."""

    ending: str
    """What the data files' names end in."""
    seeds: list[int]
    arguments: list[str]
    """Those of all trainings."""
    trainings: list[Training]
    baseline: str
    """The training that the others are compared to; `{last}` in it is what
    stands after the last hyphen of their names."""
    control: str
    """The same, of the training whose ELMo knows no context."""


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

# Both arms get the same trials.
_TRIALS = {
    "1": ["--dropout", "0.5", "--elmo-dropout", "0.5"],
    "2": ["--dropout", "0.6", "--elmo-dropout", "0.6"],
    "3": ["--learning-rate", "0.002"],
    "4": ["--learning-rate", "0.002", "--dropout", "0.6",
          "--elmo-dropout", "0.6"],
    "5": ["--batch-size", "16"],
}  # fmt: skip

# How ELMo's layers make one vector, beside the weights learned freely.
_MIXES = {
    "layer-0": ["--mix", "0"],
    "layer-1": ["--mix", "1"],
    "layer-2": ["--mix", "top"],
    "average": ["--mix", "average"],
    "l2-0.001": ["--mix-l2", "0.001"],
    "l2-1": ["--mix-l2", "1"],
}
# By the percentage of the training sentences; few updates make an epoch of few.
_SIZES = {
    "1": ["--fraction", "0.01", "--evaluate-every", "40", "--epochs", "400"],
    "10": ["--fraction", "0.1", "--evaluate-every", "40", "--epochs", "50"],
    "100": ["--evaluate-every", "200", "--epochs", "15"],
}
# What the layers know, without a tagger of any depth after them.
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
