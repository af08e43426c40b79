"""A process that trains on several devices, for `test_workers`."""

import json
import os
import pathlib
import signal
import sys

import tensorflow as tf
from pretraining.small_trainings import Losses
from pretraining.small_trainings import compiled_once
from pretraining.small_trainings import make_settings
from pretraining.small_trainings import train

from keras_elmo import BidirectionalLanguageModel
from keras_elmo.pretraining.settings import Plan


def make_strategy(name):
    if name == "multi-worker":
        return tf.distribute.MultiWorkerMirroredStrategy()
    (cpu,) = tf.config.list_physical_devices("CPU")
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, two)
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


class Report(Losses):
    """Asks this process to stop after the step `last`, if given."""

    def __init__(self, last):
        super().__init__()
        self._last = last

    def stepped(self, step, loss):
        super().stepped(step, loss)
        if step == self._last:
            signal.raise_signal(signal.SIGTERM)


def count_compiled_steps():
    """Counts how often a step is compiled, in the list that it returns."""
    predict_hidden = BidirectionalLanguageModel.predict_hidden
    steps = []

    def counted(self, inputs, initial_state=None, seed=None):
        if seed is not None:
            steps.append(1)
        return predict_hidden(self, inputs, initial_state, seed)

    BidirectionalLanguageModel.predict_hidden = counted
    return steps


def note_files(folder, found):
    """Records which files this process changes in a folder."""

    def audit(event, arguments):
        is_write = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        is_change = event in ("os.rename", "os.remove", "os.truncate")
        path = arguments[0] if arguments else None
        if (is_write or is_change) and str(path).startswith(folder):
            found.append([event, str(path)])

    sys.addaudithook(audit)


def main(task):
    """Runs trainings; returns their outcomes."""
    strategy = make_strategy(task["strategy"])
    runs, files, steps = [], [], count_compiled_steps()
    note_files(task["folder"], files)
    for run in task["runs"]:
        report = Report(run.get("stop"))
        is_over = train(
            pathlib.Path(task["corpus"]),
            pathlib.Path(task["folder"]) / run["output"],
            make_settings(**task["settings"]),
            plan=Plan(evaluate_every=4, checkpoint_every=2, log_every=1),
            strategy=strategy,
            restart=run.get("restart", False),
            report=report,
        )
        runs.append({"is_over": is_over, "losses": list(report.of.values())})
    return {"runs": runs, "files": list(files), "compiled": len(steps)}


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        task = json.load(file)
    with compiled_once():
        result = main(task)
    with open(sys.argv[2], "w") as file:
        json.dump(result, file)
