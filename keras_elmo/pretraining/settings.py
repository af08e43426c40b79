"""What a training is: the sizes of its model, and how it is trained."""

import dataclasses
import typing

from keras_elmo.choices import COMPUTE_DTYPES
from keras_elmo.choices import PAPER_FILTERS
from keras_elmo.formats.bilm_options import parse_language_model_options

OPTIMIZERS = ("adagrad", "adam")
SCHEDULES = ("constant", "cosine")


def _from(low):
    def is_good(value):
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        return is_integer and value >= low

    return is_good, f"an integer of at least {low}"


def _is_positive(value):
    return isinstance(value, (int, float)) and 0 < value < float("inf")


def _is_rate(value):
    return isinstance(value, (int, float)) and 0 <= value <= 1


_POSITIVE = (_is_positive, "a positive number")
_RATE = (_is_rate, "a number from 0 to 1")


def _setting(
    default, help="", check=None, choices=None, key=None, changeable=False
):
    """Makes a field of `Settings`, with all that is to be known of it.

    Args:
        default: The paper's value.
        help: String, what `keras-elmo pretrain --help` says of it.
        check: Function that tells whether a value is good, and what it must
            be, as text.
        choices: Tuple of strings, in place of `check`.
        key: String, what bilm-tf's options file calls it, if it holds it.
        changeable: Boolean, whether it may be another when a training goes on.
    """
    if choices is not None:
        check = choices.__contains__, f"one of {list(choices)}"
    metadata = dict(
        help=help, check=check, choices=choices, key=key, changeable=changeable
    )
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of a training, by default the paper's."""

    options: dict
    """The model, as bilm-tf's options file says it."""
    epochs: float = _setting(
        10, "passes over the text", _POSITIVE, key="n_epochs", changeable=True
    )
    steps: int | None = _setting(
        None, "in place of epochs", _from(1), changeable=True
    )
    batch_size: int = _setting(
        128, "rows of a window, on each device", _from(1), key="batch_size"
    )
    unroll_steps: int = _setting(
        20,
        "tokens of a row of a window, through which gradients flow back",
        _from(1),
        key="unroll_steps",
    )
    optimizer: str = _setting("adagrad", choices=OPTIMIZERS)
    learning_rate: float = _setting(0.2, check=_POSITIVE, changeable=True)
    schedule: str = _setting(
        "constant",
        "cosine lets the rate fall to 0 at the end",
        choices=SCHEDULES,
        changeable=True,
    )
    warmup_steps: int = _setting(
        0, "steps in which the rate rises from 0", _from(0), changeable=True
    )
    # The gradients are of the summed loss of a row's tokens, averaged over
    # rows and directions, as in bilm-tf.
    clip_norm: float | None = _setting(
        10.0,
        "limit of the norm of all gradients, or none",
        _POSITIVE,
        key="all_clip_norm_val",
        changeable=True,
    )
    accumulation_steps: int = _setting(
        1, "windows whose gradients are averaged for one update", _from(1)
    )
    # With 0, as in bilm-tf, only the first window starts from zero, and a model
    # may come out that is good only in states far from it.
    reset_rate: float = _setting(
        0.0,
        "how often a row starts from a zero state, as each sentence does that "
        "ElmoLayer reads",
        _RATE,
    )
    full_softmax: bool = _setting(
        False,
        "train with all words, too: slow, unless the vocabulary is small",
    )
    dtype: str = _setting("float32", "to compute in", choices=COMPUTE_DTYPES)
    seed: int = _setting(0, "of all that is drawn at random", _from(0))

    def __post_init__(self):
        options = self.options
        if isinstance(options, dict):  # Their check says it of others.
            # The vocabulary's size is the vocabulary's to say.
            options = {"n_tokens_vocab": 1, **options}
        parse_language_model_options(options)
        for field in dataclasses.fields(self):
            _check(field, getattr(self, field.name))

    @classmethod
    def options_keys(cls):
        """Returns the settings' names by bilm-tf's names of them."""
        return {
            field.metadata["key"]: field.name
            for field in dataclasses.fields(cls)
            if field.metadata.get("key")
        }

    def check_goes_on(self, before):
        """Raises `ValueError` unless a training can go on with these.

        Args:
            before: Dictionary, the settings that it began with.
        """
        for field in dataclasses.fields(self):
            if field.metadata.get("changeable"):
                continue
            old, new = before.get(field.name), getattr(self, field.name)
            if old != new:
                raise ValueError(
                    f"A training that goes on must have the `{field.name}` "
                    f"that it began with, {old!r}. Received: {new!r}. To begin "
                    "anew, choose another folder, or --restart."
                )


def may_be_none(field):
    """Whether a field of `Settings` may be `None`."""
    return type(None) in typing.get_args(field.type)


def _check(field, value):
    check = field.metadata.get("check")
    if check is None or (value is None and may_be_none(field)):
        return
    is_good, expected = check
    if not is_good(value):
        if may_be_none(field):
            expected += " or None"
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
