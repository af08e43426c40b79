"""The settings of a training, and when it logs, evaluates and saves."""

import dataclasses
import math

from keras_elmo.checks import is_integer
from keras_elmo.checks import is_number
from keras_elmo.choices import COMPUTE_DTYPES
from keras_elmo.choices import PAPER_FILTERS
from keras_elmo.formats.bilm_options import parse_language_model_options

OPTIMIZERS = ("adagrad", "adam")
SCHEDULES = ("constant", "cosine")
# The first evaluations and checkpoints of a long training.
_EARLY_STEPS = (10, 100, 1_000, 10_000)
_CHECKPOINT_EVERY = 1000


def _from(low):
    return (
        lambda value: is_integer(value, low),
        f"an integer of at least {low}",
    )


def _is_positive(value):
    return is_number(value) and 0 < value < float("inf")


def _is_rate(value):
    return is_number(value) and 0 <= value <= 1


_POSITIVE = (_is_positive, "a positive number")
_RATE = (_is_rate, "a number from 0 to 1")


def _setting(
    default, help="", check=None, choices=None, key=None, changeable=False
):
    """Makes a field of `Settings`, with its metadata.

    Args:
        default: The paper's value; `None` if the field may be left out.
        help: String, its description in `keras-elmo pretrain --help`.
        check: Pair of a function that returns whether a value is valid, and
            text that says what it must be.
        choices: Tuple of strings, instead of `check`.
        key: String, its name in bilm-tf's options file, if it is there.
        changeable: Boolean, whether it may change when a training is resumed.
    """
    if choices is not None:
        check = choices.__contains__, f"one of {list(choices)}"
    metadata = dict(
        help=help, check=check, choices=choices, key=key, changeable=changeable
    )
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of a training. The defaults are the paper's."""

    options: dict
    """The model, as in bilm-tf's options file."""
    epochs: float = _setting(
        10, "passes over the text", _POSITIVE, key="n_epochs", changeable=True
    )
    steps: int | None = _setting(
        None, "number of steps, instead of epochs", _from(1), changeable=True
    )
    batch_size: int = _setting(
        128, "rows of a window on each device", _from(1), key="batch_size"
    )
    unroll_steps: int = _setting(
        20,
        "tokens per row of a window, over which gradients are propagated back",
        _from(1),
        key="unroll_steps",
    )
    optimizer: str = _setting("adagrad", choices=OPTIMIZERS)
    learning_rate: float = _setting(0.2, check=_POSITIVE, changeable=True)
    schedule: str = _setting(
        "constant",
        "cosine decays the learning rate to 0 at the end",
        choices=SCHEDULES,
        changeable=True,
    )
    warmup_steps: int = _setting(
        0,
        "steps in which the learning rate rises from 0",
        _from(0),
        changeable=True,
    )
    # As in bilm-tf, the loss is summed over the tokens of a row and averaged
    # over rows and directions.
    clip_norm: float = _setting(
        10.0,
        "maximum global norm of the gradients",
        _POSITIVE,
        key="all_clip_norm_val",
        changeable=True,
    )
    accumulation_steps: int = _setting(
        1, "windows whose gradients are averaged for one update", _from(1)
    )
    # With 0, as in bilm-tf, only the first window starts from a zero state, and
    # the model may be bad in states near zero.
    reset_rate: float = _setting(
        0.0,
        "probability that a row starts from a zero state, as every sentence "
        "does in ElmoLayer",
        _RATE,
    )
    full_softmax: bool = _setting(
        False,
        "train with the full softmax: slow unless the vocabulary is small",
    )
    dtype: str = _setting(
        "float32", "dtype to compute in", choices=COMPUTE_DTYPES
    )
    seed: int = _setting(0, "seed of all random numbers", _from(0))
    # These do not affect the losses.
    evaluate_every: int | None = _setting(
        None,
        "steps between two evaluations. Default: one epoch, and in the first "
        "epoch also after 10, 100, 1,000 and 10,000 steps, which --patience "
        "does not count",
        _from(1),
        changeable=True,
    )
    checkpoint_every: int | None = _setting(
        None,
        "steps between two checkpoints. Default: 1000, and also after 10 and "
        "100 steps",
        _from(1),
        changeable=True,
    )
    log_every: int = _setting(
        100,
        "steps between two lines of the training's log.jsonl",
        _from(1),
        changeable=True,
    )
    patience: int | None = _setting(
        None,
        "stop after N evaluations without a better perplexity",
        _from(1),
        changeable=True,
    )
    heldout_rows: int = _setting(
        32,
        "streams of the held-out text; more are faster",
        _from(1),
        changeable=True,
    )

    def __post_init__(self):
        options = self.options
        if isinstance(options, dict):  # Otherwise, parsing raises the error.
            # The real size is that of the vocabulary.
            options = {"n_tokens_vocab": 1, **options}
        parse_language_model_options(options)
        for field in dataclasses.fields(self):
            _check(field, getattr(self, field.name))

    @classmethod
    def options_keys(cls):
        """Returns a dictionary from bilm-tf's names to those of settings."""
        return {
            field.metadata["key"]: field.name
            for field in dataclasses.fields(cls)
            if field.metadata.get("key")
        }

    def fixed(self):
        """Returns what must stay when a training is resumed, a dictionary."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if not field.metadata.get("changeable")
        }


def _check(field, value):
    check = field.metadata.get("check")
    if check is None or (value is None and field.default is None):
        return
    is_good, expected = check
    if not is_good(value):
        raise ValueError(
            f"`{field.name}` must be {expected}. Received: {value!r}"
        )


def _options(dim, projection_dim, filters, n_highway, n_negatives):
    return {
        "bidirectional": True,
        "char_cnn": {
            "activation": "relu",
            "embedding": {"dim": 16},
            "filters": filters,
            "max_characters_per_token": 50,
            "n_characters": 261,
            "n_highway": n_highway,
        },
        "dropout": 0.1,
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

RECIPES = {
    "paper": Settings(_options(4096, 512, _FILTERS, 2, 8192)),
    "laptop": Settings(
        _options(512, 128, _FILTERS[:5], 1, 1024),
        batch_size=32,
        optimizer="adam",
        learning_rate=4e-3,
        schedule="cosine",
        warmup_steps=100,
        reset_rate=0.05,
    ),
}


class Schedule:
    """When a training logs, evaluates and saves, and how long it takes.

    Args:
        settings: The `Settings`.
        targets: Integer, the number of predictions in a pass over the text.
        rows: Integer, the number of rows of a window.
    """

    def __init__(self, settings, targets, rows):
        self.settings = settings
        self.tokens_per_step = rows * settings.unroll_steps
        self.epoch = math.ceil(targets / self.tokens_per_step)
        """The number of steps of a pass over the text"""
        self.total = settings.steps or math.ceil(
            settings.epochs * targets / self.tokens_per_step
        )
        """The number of steps of the training"""

    def is_over(self, progress) -> bool:
        """Whether training ends with a `Progress`."""
        patience = self.settings.patience
        return progress.step >= self.total or (
            patience is not None and progress.evaluations_since_best >= patience
        )

    def is_log_entry(self, step: int) -> bool:
        """Whether the loss is logged after a step."""
        return self._is_regular(step, self.settings.log_every)

    def is_evaluation(self, step: int) -> bool:
        """Whether the model is evaluated after a step."""
        is_early = step in _EARLY_STEPS and step < self.epoch
        is_early = is_early and self.settings.evaluate_every is None
        return is_early or self.is_regular_evaluation(step)

    def is_regular_evaluation(self, step: int) -> bool:
        """Whether the evaluation after a step counts for `patience`."""
        return self._is_regular(
            step, self.settings.evaluate_every or self.epoch
        )

    def is_checkpoint(self, step: int) -> bool:
        """Whether there is a checkpoint after a step."""
        every = self.settings.checkpoint_every
        is_early = every is None and step in _EARLY_STEPS
        return is_early or self._is_regular(step, every or _CHECKPOINT_EVERY)

    def _is_regular(self, step, every):
        return step % every == 0 or step == self.total
