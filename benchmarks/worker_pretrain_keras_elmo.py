"""Trains with this package's own command; see turns.py."""

import os
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from turns import Turns

from keras_elmo.commands import pretrain_reports
from keras_elmo.commands.main import main as keras_elmo
from keras_elmo.pretraining.reports import Report


class HeldUp(Report):
    """Waits before each step."""

    def __init__(self, turns):
        self._turns = turns

    def begun(self, *_):
        self._turns.before_update()

    def stepped(self, *_):
        self._turns.before_update()


def typed(flags):
    """Returns the command-line arguments for flags of `keras-elmo`."""
    return [text for k, v in flags.items() for text in (f"--{k}", str(v))]


def main():
    turns = Turns()
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            **turns.settings,
            "output": folder,
            "steps": 10**9,
            "checkpoint-every": 10**9,
        }
        pretrain_reports.make_report = lambda *_: HeldUp(turns)
        keras_elmo(["pretrain", "--quiet", *typed(settings)])


if __name__ == "__main__":
    main()
