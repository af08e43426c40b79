"""The arguments of `keras-elmo pretrain` that are its recipe's settings."""

from keras_elmo.commands.argument_types import number_or_none
from keras_elmo.commands.argument_types import positive_integer
from keras_elmo.pretraining.settings import DTYPES
from keras_elmo.pretraining.settings import OPTIMIZERS
from keras_elmo.pretraining.settings import RECIPES
from keras_elmo.pretraining.settings import SCHEDULES


def add_training_arguments(group):
    """Adds those of the `Settings` to an argument group of `pretrain`."""
    length = group.add_mutually_exclusive_group().add_argument
    add = group.add_argument
    length("--epochs", type=float, metavar="N", help=_told("epochs"))
    length("--steps", type=int, metavar="N", help="in place of epochs")
    add(
        "--batch-size",
        type=int,
        metavar="N",
        help=_told("batch_size", "rows of a window, on each device"),
    )
    add(
        "--unroll-steps",
        type=int,
        metavar="N",
        help=_told("unroll_steps", "tokens of a row of a window"),
    )
    add(
        "--negatives",
        type=positive_integer,
        metavar="N",
        help="words that the sampled softmax compares with. Default: "
        f"{_option('n_negative_samples_batch')}",
    )
    add(
        "--dropout",
        type=float,
        metavar="RATE",
        help=f"Default: {_option('dropout')}",
    )
    add("--optimizer", choices=OPTIMIZERS, help=_told("optimizer"))
    add(
        "--learning-rate",
        type=float,
        metavar="RATE",
        help=_told("learning_rate"),
    )
    add(
        "--schedule",
        choices=SCHEDULES,
        help=_told("schedule", "cosine lets the rate fall to 0 at the end"),
    )
    add(
        "--warmup-steps",
        type=int,
        metavar="N",
        help=_told("warmup_steps", "steps in which the rate rises from 0"),
    )
    add(
        "--clip-norm",
        type=number_or_none,
        metavar="NORM",
        help=_told("clip_norm", "the most of all gradients' norm, or none"),
    )
    add(
        "--accumulation-steps",
        type=int,
        metavar="N",
        help=_told("accumulation_steps", "windows for each update"),
    )
    add(
        "--reset-rate",
        type=float,
        metavar="RATE",
        help=_told(
            "reset_rate",
            "how often a row starts from a zero state, as each sentence does "
            "that ElmoLayer reads",
        ),
    )
    add(
        "--full-softmax",
        action="store_true",
        default=None,
        help="train with all words, too: slow, unless the vocabulary is small",
    )
    add("--dtype", choices=DTYPES, help=_told("dtype"))
    add("--seed", type=int, metavar="N", help=_told("seed"))


def _told(name, what=""):
    """Returns a setting's help, with its defaults."""
    values = {key: getattr(recipe, name) for key, recipe in RECIPES.items()}
    return f"{what}. {_defaults(values)}".lstrip(". ")


def _option(key):
    values = {name: recipe.options[key] for name, recipe in RECIPES.items()}
    return _defaults(values).removeprefix("Default: ")


def _defaults(values):
    paper = values.pop("paper")
    others = [f"{k}: {v}" for k, v in values.items() if v != paper]
    return f"Default: {paper}" + (f" ({', '.join(others)})" if others else "")
