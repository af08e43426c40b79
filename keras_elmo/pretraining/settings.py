"""What a training is: the sizes of its model, and how it is trained."""

import dataclasses

from keras_elmo.choices import PAPER_FILTERS
from keras_elmo.formats.bilm_options import parse_language_model_options

OPTIMIZERS = ("adagrad", "adam")
SCHEDULES = ("constant", "cosine")
DTYPES = ("float32", "mixed_bfloat16")

# What may be another when a training goes on; all else must be as it was.
_CHANGEABLE = (
    "epochs",
    "steps",
    "learning_rate",
    "schedule",
    "warmup_steps",
    "clip_norm",
)


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of a training, by default the paper's."""

    options: dict
    """The model, as bilm-tf's options file says it."""
    batch_size: int = 128
    """Rows of a window, of one device"""
    unroll_steps: int = 20
    """Tokens of a row, through which gradients flow back"""
    epochs: float = 10
    steps: int | None = None
    """Number of steps, in place of `epochs`"""
    optimizer: str = "adagrad"
    learning_rate: float = 0.2
    schedule: str = "constant"
    """`"cosine"` lets the rate fall to nothing at the end."""
    warmup_steps: int = 0
    """Steps in which the rate rises from nothing"""
    clip_norm: float | None = 10.0
    """Limit of the norm of all gradients; those are of the summed loss of a
    row's tokens, averaged over rows and directions, as in bilm-tf"""
    accumulation_steps: int = 1
    """Windows whose gradients are averaged for one update"""
    reset_rate: float = 0.0
    """How often a row's LSTM state is set to zero before a window. With 0, as
    in bilm-tf, only the first window starts from zero, and a model may come out
    that is well only in states far from it; but a sentence that is read on its
    own starts from zero"""
    full_softmax: bool = False
    """Whether training too has the full softmax"""
    dtype: str = "float32"
    seed: int = 0

    def __post_init__(self):
        # The vocabulary's size is the vocabulary's to say.
        parse_language_model_options({"n_tokens_vocab": 1, **self.options})
        for name in ("batch_size", "unroll_steps", "accumulation_steps"):
            self._check(name, _is_integer_from(1), "an integer of at least 1")
        if self.steps is not None:
            self._check(
                "steps", _is_integer_from(1), "an integer of at least 1 or None"
            )
        for name in ("warmup_steps", "seed"):
            self._check(name, _is_integer_from(0), "an integer of at least 0")
        self._check("reset_rate", _is_rate, "a number from 0 to 1")
        for name in ("epochs", "learning_rate"):
            self._check(name, _is_positive, "a positive number")
        if self.clip_norm is not None:
            self._check("clip_norm", _is_positive, "a positive number or None")
        for name, choices in (
            ("optimizer", OPTIMIZERS),
            ("schedule", SCHEDULES),
            ("dtype", DTYPES),
        ):
            self._check(name, choices.__contains__, f"one of {list(choices)}")

    def _check(self, name, is_good, expected):
        value = getattr(self, name)
        if not is_good(value):
            raise ValueError(
                f"`{name}` must be {expected}. Received: {value!r}"
            )

    def check_goes_on(self, before):
        """Raises `ValueError` unless a training can go on with these.

        Args:
            before: Dictionary, the settings that it began with.
        """
        for name, value in dataclasses.asdict(self).items():
            if name not in _CHANGEABLE and before.get(name) != value:
                raise ValueError(
                    f"A training that goes on must have the `{name}` that it "
                    f"began with, {before.get(name)!r}. Received: {value!r}. "
                    "To begin anew, choose another folder, or --restart."
                )


def _is_integer_from(low):
    def check(value):
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        return is_integer and value >= low

    return check


def _is_rate(value):
    return isinstance(value, (int, float)) and 0 <= value <= 1


def _is_positive(value):
    return isinstance(value, (int, float)) and 0 < value < float("inf")


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
