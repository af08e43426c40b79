"""Trainings that are killed at any moment.

Most kills are points of one uninterrupted training. Some processes are actually
killed, on JAX twenty.
"""

import os
import pathlib
import random
import signal
import subprocess
import sys

import pytest
from kill_points import kill_points
from kill_points import run_until_killed
from kill_points import some
from pretraining.small_trainings import Losses
from pretraining.small_trainings import check_same
from pretraining.small_trainings import make_settings
from pretraining.small_trainings import read_log
from pretraining.small_trainings import train
from tiers import quick_first

NUM_KILLS = 56
SETTINGS = make_settings(steps=60)
TESTS = pathlib.Path(__file__).parent.parent


class Report(Losses):
    """A report with points in the middle of a step, too."""

    def __init__(self, point):
        super().__init__()
        self.point = point

    def stepped(self, step, loss):
        super().stepped(step, loss)
        self.point("stepped")


pytestmark = pytest.mark.usefixtures("little_to_compile")


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory, corpus, little_to_compile):
    """The points, the losses and the folder of an uninterrupted training."""
    folder = tmp_path_factory.mktemp("unbroken") / "out"
    losses = {}

    def run(point):
        report = Report(point)
        assert train(corpus, folder, SETTINGS, report=report)
        losses.update(report.of)

    return kill_points(run, folder), losses, folder


@pytest.mark.parametrize(
    "kill", quick_first(sorted(range(NUM_KILLS), key=lambda i: i % 3), 2)
)
def test_a_kill_at_any_point_does_no_harm(tmp_path, corpus, unbroken, kill):
    points, losses, whole = unbroken
    output = tmp_path / "out"
    some(points, NUM_KILLS)[kill].restore(output)
    # Some resume to the end, most only for a few steps.
    goes_on = 60 if kill % 10 == 0 else 8

    def stop(kind):
        if kind == "stepped" and len(report.of) == goes_on:
            signal.raise_signal(signal.SIGTERM)

    report = Report(stop)
    random.seed(kill)
    is_over = train(corpus, output, SETTINGS, report=report)
    first, last = min(report.of, default=61), max(report.of, default=60)
    assert first == 1 or (first - 1) % 3 == 0 or (first - 1) % 7 == 0
    # Bitwise equal, with no step skipped and none repeated.
    assert report.of == {i: losses[i] for i in range(first, last + 1)}
    log = read_log(whole)
    assert read_log(output) == [entry for entry in log if entry["step"] <= last]
    assert is_over == (last == 60)
    if is_over:
        check_same(output, whole)


def test_files_of_two_models_are_never_a_model(unbroken):
    names = ("options.json", "weights.hdf5", "softmax.hdf5", "vocab.txt")
    models = {
        tuple(x.files[name] for name in names)
        for x in unbroken[0]
        if "options.json" in x.files
    }
    # The weights differ at each of the evaluations that found a better model.
    weights = [model[1] for model in models]
    assert len(weights) == len(set(weights)) > 3


def train_until_killed(corpus, output, kind, number):
    """Called in a process of its own."""

    def run(point):
        report = Report(point)
        train(
            pathlib.Path(corpus), pathlib.Path(output), SETTINGS, report=report
        )

    run_until_killed(run, output, kind, int(number))


CALLS = [
    f"{when} {name}"
    for name in ("write", "fsync", "replace", "unlink")
    for when in ("before", "after")
]
KILLS = [(x, n) for n in (3, 5) for x in ("stepped", "after open", *CALLS)]


def check_killed_processes(corpus, output, whole, kills):
    """Kills one process after another, which all train in one folder."""
    code = (
        "import sys; from pretraining import test_kills; "
        "test_kills.train_until_killed(*sys.argv[1:])"
    )
    path = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    for kind, number in kills:
        process = subprocess.run(
            [sys.executable, "-c", code, corpus, output, kind, str(number)],
            env={**os.environ, "PYTHONPATH": path},
        )
        assert process.returncode == -signal.SIGKILL, (kind, number)
    losses = Losses()
    assert train(corpus, output, SETTINGS, report=losses)
    assert min(losses.of) > 1  # It was not started over.
    assert read_log(output) == read_log(whole)
    check_same(output, whole)


@pytest.mark.exhaustive
def test_processes_that_are_killed(tmp_path, corpus, unbroken):
    output = tmp_path / "out"
    check_killed_processes(corpus, output, unbroken[2], KILLS[::6])
