"""Trains with this package, by its own command; see turns.py."""

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


def main():
    turns = Turns()
    settings = turns.settings
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--train", settings["train"], "--output", folder]
        arguments += ["--vocabulary", settings["vocabulary"]]
        arguments += ["--options", settings["options"]]
        arguments += ["--dtype", settings["dtype"], "--steps", str(10**9)]
        arguments += ["--checkpoint-every", str(10**9), "--quiet"]
        pretrain_reports.make_report = lambda *_: HeldUp(turns)
        keras_elmo(["pretrain", *arguments])


if __name__ == "__main__":
    main()
