"""The trainings that `experiments.py` runs."""

from typing import NamedTuple


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


_BASELINE = ["--elmo-at", "none"]

_WNUT17 = TrainingList(
    ending="conll",
    seeds=[1, 2, 3, 4, 5],
    arguments=[],
    trainings=[
        Training("baseline", _BASELINE),
        Training("elmo-both", ["--elmo-at", "both"]),
        Training("layer-0", ["--elmo-at", "both", "--mix", "0"]),
        Training("elmo-input", ["--elmo-at", "input"]),
        Training("elmo-output", ["--elmo-at", "output"]),
        Training("baseline-no-characters", [*_BASELINE, "--no-characters"]),
    ],
    baseline="baseline",
)

# Both arms get the same trials; what is best on dev becomes the default.
_TRIALS = {
    "1": ["--dropout", "0.5", "--elmo-dropout", "0.5"],
    "2": ["--dropout", "0.6", "--elmo-dropout", "0.6"],
    "3": ["--learning-rate", "0.002"],
    "4": ["--learning-rate", "0.002", "--dropout", "0.6",
          "--elmo-dropout", "0.6"],
    "5": ["--batch-size", "16"],
    "6": ["--units", "200"],
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
    "1": ["--fraction", "0.01", "--evaluate-every", "20", "--epochs", "200"],
    "10": ["--fraction", "0.1", "--evaluate-every", "40", "--epochs", "50"],
    "100": ["--evaluate-every", "200", "--epochs", "15"],
}
# What the layers know, without a tagger of any depth after them.
_PROBE = ["--no-words", "--no-characters", "--units", "0"]


def _part_of_speech():
    main, mixes, probes = [], [], []
    for percent, size in _SIZES.items():
        main.append(Training(f"baseline-{percent}", [*_BASELINE, *size]))
        main.append(Training(f"elmo-{percent}", ["--elmo-at", "input", *size]))
        for name, mix in _MIXES.items():
            arguments = ["--elmo-at", "input", *mix, *size]
            mixes.append(Training(f"{name}-{percent}", arguments))
    for name in ("layer-0", "layer-1", "layer-2", "average"):
        arguments = ["--elmo-at", "input", *_MIXES[name], *_PROBE]
        probes.append(Training(f"probe-{name}-100", arguments + _SIZES["100"]))
    return main + mixes + probes


LISTS = {
    "wnut17": _WNUT17,
    "wnut17-tuning": _WNUT17._replace(
        seeds=[1],
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
    ),
}
