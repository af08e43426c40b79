"""Trainings that are killed at any moment.

Most kills are snapshots of one uninterrupted training. Some processes are
actually killed, on JAX twenty.
"""

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys

import pytest
from pretraining.small_trainings import Losses
from pretraining.small_trainings import check_same
from pretraining.small_trainings import make_settings
from pretraining.small_trainings import read_log
from pretraining.small_trainings import train
from pretraining.snapshots import Recorder
from tiers import quick_first

from keras_elmo.pretraining import training

NUM_KILLS = 56
NUM_KINDS = 14
SETTINGS = make_settings(steps=60)
TESTS = pathlib.Path(__file__).parent.parent


class TrainingRecorder(Recorder, Losses):
    """Takes snapshots of a training's folder, also in the middle of a step."""

    def watching(self):
        return super().watching((training.StopRequest, "__enter__"))

    def stepped(self, step, loss):
        super().stepped(step, loss)
        self.event("stepped")

    @contextlib.contextmanager
    def working(self, what):
        yield
        if what == "saving a checkpoint":
            self.event("saved")


pytestmark = pytest.mark.usefixtures("little_to_compile")


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory, corpus, little_to_compile):
    """The recorder of an uninterrupted training, and its folder."""
    folder = tmp_path_factory.mktemp("unbroken") / "out"
    recorder = TrainingRecorder(folder)
    with recorder.watching():
        assert train(corpus, folder, SETTINGS, report=recorder)
    return recorder, folder


@pytest.fixture(scope="module")
def kills(unbroken):
    """Snapshots of a training, alternating between kinds of events."""
    kinds = list(unbroken[0].snapshots.values())
    assert len(kinds) == NUM_KINDS
    chosen = []
    for i in range(NUM_KILLS):
        # Each kind's snapshots are spread over the training.
        turn, kind = divmod(i, NUM_KINDS)
        place = (turn + (kind + 0.5) / NUM_KINDS) * NUM_KINDS / NUM_KILLS
        chosen.append(kinds[kind][int(place * len(kinds[kind]))])
    return chosen


@pytest.mark.parametrize(
    "kill", quick_first(sorted(range(NUM_KILLS), key=lambda i: i % 3), 2)
)
def test_a_kill_at_any_point_does_no_harm(
    tmp_path, corpus, unbroken, kills, kill
):
    recorder, whole = unbroken
    output = tmp_path / "out"
    output.mkdir()
    for name, content in kills[kill].items():
        (output / name).parent.mkdir(exist_ok=True)
        (output / name).write_bytes(content)
    # Some resume to the end, most only for a few steps.
    goes_on = 60 if kill % 10 == 0 else 8

    class Report(Losses):
        def stepped(self, step, loss):
            super().stepped(step, loss)
            if len(self.of) == goes_on:
                signal.raise_signal(signal.SIGTERM)

    report = Report()
    random.seed(kill)
    is_over = train(corpus, output, SETTINGS, report=report)
    first, last = min(report.of, default=61), max(report.of, default=60)
    assert first == 1 or (first - 1) % 3 == 0 or (first - 1) % 7 == 0
    # Bitwise equal, with no step skipped and none repeated.
    assert report.of == {i: recorder.of[i] for i in range(first, last + 1)}
    log = read_log(whole)
    assert read_log(output) == [entry for entry in log if entry["step"] <= last]
    assert is_over == (last == 60)
    if is_over:
        check_same(output, whole)


def test_files_of_two_models_are_never_a_model(unbroken):
    names = ("options.json", "weights.hdf5", "softmax.hdf5", "vocab.txt")
    models = {
        tuple(files[name] for name in names)
        for files in unbroken[0].all_snapshots
        if "options.json" in files
    }
    # The weights differ at each of the evaluations that found a better model.
    weights = [model[1] for model in models]
    assert len(weights) == len(set(weights)) > 3


class Killer(TrainingRecorder):
    """Kills this process when an event happens for the nth time."""

    def __init__(self, folder, kind, number):
        super().__init__(folder)
        self._kind, self._left = kind, number

    def event(self, kind):
        self._left -= kind == self._kind
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)


def train_until_killed(corpus, output, kind, number):
    """Called in a process of its own."""
    killer = Killer(output, kind, int(number))
    with killer.watching():
        train(pathlib.Path(corpus), killer.folder, SETTINGS, report=killer)


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
    check_killed_processes(corpus, output, unbroken[1], KILLS[::6])
