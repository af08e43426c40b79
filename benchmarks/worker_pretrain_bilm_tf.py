"""Trains with bilm-tf's own `train`; see turns.py.

Needs a Python in which `from bilm.training import train` works.
"""

import json
import os
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")

from bilm.data import BidirectionalLMDataset
from bilm.training import load_vocab
from bilm.training import train
from turns import Turns

# So many tokens that training never ends: at the end it would save and exit.
ENDLESS = 10**12


class Data:
    """Its dataset, which waits before each batch."""

    def __init__(self, dataset, turns):
        self._dataset, self._turns = dataset, turns

    def iter_batches(self, *args):
        batches = self._dataset.iter_batches(*args)
        while True:
            self._turns.before_update()
            yield next(batches)


def main():
    turns = Turns()
    settings = turns.settings
    with open(settings["options"]) as file:
        options = json.load(file)
    options["n_train_tokens"] = ENDLESS
    words = load_vocab(
        settings["vocabulary"], options["char_cnn"]["max_characters_per_token"]
    )
    dataset = BidirectionalLMDataset(
        settings["train"], words, test=False, shuffle_on_load=True
    )
    with tempfile.TemporaryDirectory() as folder:
        train(options, Data(dataset, turns), 1, folder, folder)


if __name__ == "__main__":
    main()
