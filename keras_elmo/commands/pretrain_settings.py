"""The settings of `keras-elmo pretrain`, and the flags for them."""

import dataclasses
import typing

from keras_elmo.pretraining.settings import RECIPES
from keras_elmo.pretraining.settings import Settings

DEFAULT_RECIPE = "paper"
# The model's options that concern training: key, type, help.
_OPTIONS = {
    "negatives": (
        "n_negative_samples_batch",
        int,
        "number of negative samples of the sampled softmax",
    ),
    "dropout": ("dropout", float, ""),
}
# Entries of an options file that are neither settings nor part of the model.
_FACTS = ("n_train_tokens",)


def add_settings(group):
    """Adds a flag for each field of `Settings`."""
    for name, (key, kind, about) in _OPTIONS.items():
        values = {k: recipe.options[key] for k, recipe in RECIPES.items()}
        _add(group, name, kind, _help(about, values))
    for field in dataclasses.fields(Settings):
        if field.metadata:
            name, about = field.name, field.metadata["help"]
            kind = next(iter(typing.get_args(field.type)), field.type)
            values = {k: getattr(recipe, name) for k, recipe in RECIPES.items()}
            _add(
                group,
                name,
                kind,
                about if kind is bool else _help(about, values),
                field.metadata["choices"],
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
    given = {k: v for k, v in vars(arguments).items() if v is not None}
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
        if name in given:
            options[key] = given[name]
    names = {field.name for field in dataclasses.fields(Settings)}
    changes |= {k: v for k, v in given.items() if k in names}
    return dataclasses.replace(recipe, **{**changes, "options": options})


def _add(group, name, kind, about, choices=None):
    how: dict[str, typing.Any] = {"type": kind, "choices": choices}
    if kind is bool:
        how = {"action": "store_true", "default": None}
    elif choices is None:
        how["metavar"] = "N" if kind is int else "NUMBER"
    group.add_argument(f"--{name.replace('_', '-')}", help=about, **how)


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
