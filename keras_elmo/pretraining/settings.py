"""The settings of a training, and when it logs, evaluates and saves."""

import dataclasses
import functools
import math

from keras_elmo.checks import argument_name
from keras_elmo.checks import check_choice
from keras_elmo.checks import check_integer
from keras_elmo.checks import is_number
from keras_elmo.choices import COMPUTE_DTYPES
from keras_elmo.choices import PAPER_FILTERS
from keras_elmo.formats.bilm_options import parse_language_model_options

# The first evaluations and checkpoints of a long training.
_EARLY_STEPS = (10, 100, 1_000, 10_000)


def _check_number(expected, is_right):
    """Returns a function like `check_integer`, for all right numbers."""

    def check(name, value):
        if not is_number(value) or not is_right(value):
            raise ValueError(
                f"{argument_name(name)} must be {expected}. Received: {value!r}"
            )

    return check


_check_positive = _check_number("a positive number", lambda x: 0 < x < math.inf)
_check_rate = _check_number("a number from 0 to 1", lambda x: 0 <= x <= 1)
_check_from_0 = functools.partial(check_integer, low=0)


def _setting(default, help=None, check=None, choices=None, fixed=False):
    """Makes a field of `Settings`, with its metadata.

    Args:
        default: The paper's value; `None` if the field may be left out.
        help: String, its description in `keras-elmo pretrain --help`; `None`
            if it has no flag there, but is the recipe's or the options file's.
        check: Function that takes the name and a value, and raises an error
            unless it is valid. By default, a value is a positive integer.
        choices: Tuple of strings, instead of `check`.
        fixed: Boolean, whether it must stay when a training is resumed.
    """
    if choices is not None:
        check = functools.partial(check_choice, choices=choices)
    elif check is None:
        optional = default is None
        check = functools.partial(check_integer, low=1, optional=optional)
    metadata = dict(help=help, check=check, choices=choices, fixed=fixed)
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of a training. The defaults are the paper's."""

    options: dict
    """The model, as in bilm-tf's options file."""
    epochs: float = _setting(10, "passes over the text", _check_positive)
    steps: int | None = _setting(None, "number of steps, instead of epochs")
    batch_size: int = _setting(128, "rows of a window per device", fixed=True)
    # Tokens per row of a window, over which gradients are propagated back.
    unroll_steps: int = _setting(20, fixed=True)
    optimizer: str = _setting(
        "adagrad",
        "muon (for the matrices; Adam for the rest), adam or adagrad",
        choices=("adagrad", "adam", "muon"),
        fixed=True,
    )
    learning_rate: float = _setting(
        0.2, "the rate after the warm-up", _check_positive
    )
    # With "linear", the learning rate falls to 0 at the end.
    learning_rate_schedule: str = _setting(
        "constant", choices=("constant", "linear")
    )
    warmup_steps: int = _setting(
        0, "steps in which the learning rate rises from 0", _check_from_0
    )
    # Maximum global norm of the gradients. As in bilm-tf, the loss is summed
    # over the tokens of a row and averaged over rows and directions.
    clip_norm: float = _setting(10.0, check=_check_positive)
    reset_rate: float = _setting(
        0.0,
        "probability that a row starts from a zero state, as every sentence "
        "does in ElmoLayer. With 0, as in bilm-tf, only the first window "
        "starts there. A model can then become useless: one seed of three "
        "reached a perplexity of millions",
        _check_rate,
        fixed=True,
    )
    dtype: str = _setting(
        "float32", "dtype to compute in", choices=COMPUTE_DTYPES, fixed=True
    )
    seed: int = _setting(
        0, "seed of all random numbers", _check_from_0, fixed=True
    )
    # These do not affect the losses.
    evaluate_every: int | None = _setting(
        None,
        "steps between two evaluations. Default: one epoch, and in the first "
        "epoch also after 10, 100, 1,000 and 10,000 steps, which --patience "
        "does not count",
    )
    checkpoint_every: int | None = _setting(
        None,
        "steps between two checkpoints. Default: 1000, and also after 10 and "
        "100 steps",
    )
    log_every: int = _setting(
        100, "steps between two lines of the training's log.jsonl"
    )
    patience: int | None = _setting(
        None, "stop after N evaluations without a better perplexity"
    )

    def __post_init__(self):
        # The real size is that of the vocabulary.
        parse_language_model_options({"n_tokens_vocab": 1, **self.options})
        for field in dataclasses.fields(self)[1:]:
            field.metadata["check"](field.name, getattr(self, field.name))

    @classmethod
    def flags(cls):
        """Returns the fields that have a flag."""
        fields = dataclasses.fields(cls)[1:]
        return [f for f in fields if f.metadata["help"] is not None]

    def fixed(self):
        """Returns what must stay when a training is resumed, a dictionary."""
        fields = dataclasses.fields(self)
        names = [f.name for f in fields if f.metadata.get("fixed", True)]
        return {name: getattr(self, name) for name in names}


def _options(dim, projection_dim, filters, n_highway, n_negatives, dropout=0.1):
    return {
        "char_cnn": {
            "activation": "relu",
            "embedding": {"dim": 16},
            "filters": filters,
            "max_characters_per_token": 50,
            "n_characters": 261,
            "n_highway": n_highway,
        },
        "dropout": dropout,
        "lstm": {
            "cell_clip": 3,
            "dim": dim,
            "n_layers": 2,
            "proj_clip": 3,
            "projection_dim": projection_dim,
            "use_skip_connections": True,
        },
        "n_negative_samples_batch": n_negatives,
    }


_FILTERS = [list(pair) for pair in PAPER_FILTERS]

_LAPTOP = Settings(
    _options(512, 128, _FILTERS[:5], 1, 1024),
    batch_size=32,
    optimizer="muon",
    learning_rate=4e-3,
    learning_rate_schedule="linear",
    warmup_steps=100,
    reset_rate=0.05,
)
RECIPES = {
    "paper": Settings(_options(4096, 512, _FILTERS, 2, 8192)),
    "laptop": _LAPTOP,
    "gpu": dataclasses.replace(
        _LAPTOP,
        options=_options(512, 256, _FILTERS[:5], 1, 8192, dropout=0.0),
        steps=15_000,
        batch_size=512,
        learning_rate=5e-3,
        warmup_steps=200,
        dtype="mixed_bfloat16",
    ),
}


class TrainingPlan:
    """When a training logs, evaluates and saves, and how long it takes.

    Args:
        settings: The `Settings`.
        targets: Integer, the number of predictions in a pass over the text.
        rows: Integer, the number of rows of a window.
        is_trained: Boolean, whether the model is a trained one. It is evaluated
            before the first step, too: if it only gets worse, it is kept.
    """

    def __init__(self, settings, targets, rows, is_trained=False):
        self.settings = settings
        self.is_trained = is_trained
        self.tokens_per_step = rows * settings.unroll_steps
        self.epoch = math.ceil(targets / self.tokens_per_step)
        """The number of steps of a pass over the text"""
        self.total = settings.steps or math.ceil(
            settings.epochs * targets / self.tokens_per_step
        )
        """The number of steps of the training"""
        self.passes = self.total * self.tokens_per_step / targets
        """The number of passes over the text"""

    def is_due(self, step: int, every: int) -> bool:
        """Whether a step is one of every so many, or the last."""
        return step % every == 0 or step == self.total

    def is_evaluation(self, step: int) -> bool:
        """Whether the model is evaluated after a step."""
        is_early = step in _EARLY_STEPS and step < self.epoch
        is_early = is_early and self.settings.evaluate_every is None
        return is_early or self.is_regular_evaluation(step)

    def is_regular_evaluation(self, step: int) -> bool:
        """Whether the evaluation after a step counts for `patience`."""
        return self.is_due(step, self.settings.evaluate_every or self.epoch)

    def is_checkpoint(self, step: int) -> bool:
        """Whether there is a checkpoint after a step."""
        every = self.settings.checkpoint_every
        is_early = every is None and step in _EARLY_STEPS
        return is_early or self.is_due(step, every or 1000)
