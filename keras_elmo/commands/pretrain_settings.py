"""The settings of `keras-elmo pretrain`, and the flags for them."""

import argparse
import dataclasses
import typing

from keras_elmo.commands.arguments import positive_integer
from keras_elmo.pretraining.settings import RECIPES
from keras_elmo.pretraining.settings import Settings
from keras_elmo.pretraining.settings import may_be_none

DEFAULT_RECIPE = "paper"
# The model's options that concern training: key, type, help.
_OPTIONS = {
    "negatives": (
        "n_negative_samples_batch",
        positive_integer,
        "number of negative samples of the sampled softmax",
    ),
    "dropout": ("dropout", float, ""),
}
_METAVARS = {float: "NUMBER"}
# Entries of an options file that are neither settings nor part of the model.
_FACTS = ("n_train_tokens",)


def add_settings(group):
    """Adds a flag for each field of `Settings`.

    A flag that is not given adds no attribute to the arguments, as `None` is a
    value that can be given.
    """
    for name, (key, kind, about) in _OPTIONS.items():
        values = {k: recipe.options[key] for k, recipe in RECIPES.items()}
        group.add_argument(
            f"--{name}",
            type=kind,
            metavar=_METAVARS.get(kind, "N"),
            help=_help(about, values),
        )
    for field in dataclasses.fields(Settings):
        if field.metadata:
            group.add_argument(
                f"--{field.name.replace('_', '-')}",
                default=argparse.SUPPRESS,
                **_describe(field),
            )


def make_settings(arguments, initial=None):
    """Returns the `Settings` for the arguments of `pretrain`.

    Flags override an options file, which overrides the recipe.

    Args:
        arguments: The arguments of `pretrain`.
        initial: The model to start from, or `None`.
    """
    # Imported here, as these load all of Keras.
    from keras_elmo.formats.bilm_files import read_options
    from keras_elmo.pretraining.model_files import read_model_options

    recipe = RECIPES[arguments.recipe or DEFAULT_RECIPE]
    given = vars(arguments)
    options, changes = recipe.options, {}
    if arguments.options is not None:
        options = read_options(arguments.options)
    elif initial is not None:
        options = read_model_options(initial)
    keys = Settings.options_keys()
    if arguments.options is not None:
        changes = {keys[k]: v for k, v in options.items() if k in keys}
    # These are not part of the model, so they may change later.
    left_out = {*keys, *_FACTS}
    options = {k: v for k, v in options.items() if k not in left_out}
    for name, (key, *_) in _OPTIONS.items():
        if given[name] is not None:
            options[key] = given[name]
    names = (field.name for field in dataclasses.fields(Settings))
    changes |= {name: given[name] for name in names if name in given}
    return dataclasses.replace(recipe, **{**changes, "options": options})


def _describe(field):
    """Returns the arguments of `add_argument` for a field."""
    about = field.metadata["help"]
    if field.type is bool:
        return {"action": "store_true", "help": about}
    values = {k: getattr(recipe, field.name) for k, recipe in RECIPES.items()}
    about = _help(about, values)
    choices = field.metadata["choices"]
    if choices:
        return {"choices": choices, "help": about}
    kind = next(iter(typing.get_args(field.type)), field.type)
    return {
        "type": _or_none(kind) if may_be_none(field) else kind,
        "metavar": _METAVARS.get(kind, "N"),
        "help": about,
    }


def _help(about, values):
    """Returns a help text with the values of the recipes as defaults."""
    values = dict(values)
    default = values.pop(DEFAULT_RECIPE)
    if default is None:
        return about
    others = [f"{k}: {v}" for k, v in values.items() if v != default]
    default = f"Default: {default}"
    if others:
        default += f" ({', '.join(others)})"
    return f"{about}. {default}" if about else default


def _or_none(kind):
    def parse(text):
        try:
            return None if text == "none" else kind(text)
        except ValueError:
            what = "an integer" if kind is int else "a number"
            raise argparse.ArgumentTypeError(
                f"must be {what} or none. Received: {text!r}"
            ) from None

    return parse
