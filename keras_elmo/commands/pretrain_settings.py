"""The settings of `keras-elmo pretrain`, and the flags for them."""

import dataclasses
import typing

from keras_elmo.pretraining.settings import RECIPES
from keras_elmo.pretraining.settings import Settings

DEFAULT_RECIPE = "paper"
_NEGATIVES = "n_negative_samples_batch"
# Settings in bilm-tf's options files, by their names there.
_IN_OPTIONS = {
    "n_epochs": "epochs",
    "batch_size": "batch_size",
    "unroll_steps": "unroll_steps",
    "all_clip_norm_val": "clip_norm",
}
# What is not part of the model, so that it may change later.
_NOT_OF_THE_MODEL = {*_IN_OPTIONS, "n_train_tokens"}


def add_settings(group):
    """Adds a flag for each field of `Settings` that has one, and two more."""
    add, either = group.add_argument, group.add_mutually_exclusive_group()
    add(
        "--negatives",
        type=int,
        dest=_NEGATIVES,
        metavar="N",
        help="number of negative samples of the sampled softmax; all words, if "
        f"there are no more. {_default(_NEGATIVES)}",
    )
    add("--dropout", type=float, metavar="NUMBER", help=_default("dropout"))
    for field in Settings.flags():
        value_type = next(iter(typing.get_args(field.type)), field.type)
        about, choices = field.metadata["help"], field.metadata["choices"]
        about = ". ".join(filter(None, [about, _default(field.name)]))
        metavar = None if choices else "N" if value_type is int else "NUMBER"
        flag = f"--{field.name.replace('_', '-')}"
        where = either if field.name in ("epochs", "steps") else group
        where.add_argument(
            flag, type=value_type, choices=choices, metavar=metavar, help=about
        )


def make_settings(arguments, initial=None):
    """Returns the `Settings` for the arguments of `pretrain`.

    Flags override an options file, which overrides the recipe.

    Args:
        arguments: The arguments of `pretrain`.
        initial: The model to start from, or `None`.
    """
    # Imported here, as it loads all of Keras.
    from keras_elmo.formats.bilm_files import read_options

    recipe = RECIPES[arguments.recipe or DEFAULT_RECIPE]
    options, changes = recipe.options, {}
    if arguments.options is not None:
        options = read_options(arguments.options)
        names = _IN_OPTIONS.keys() & options.keys()
        changes = {_IN_OPTIONS[name]: options[name] for name in names}
    elif initial is not None:
        options = initial.open_language_model().content
    options = {k: v for k, v in options.items() if k not in _NOT_OF_THE_MODEL}
    given = {k: v for k, v in vars(arguments).items() if v is not None}
    options |= {k: given[k] for k in (_NEGATIVES, "dropout") if k in given}
    names = [field.name for field in Settings.flags()]
    changes |= {k: given[k] for k in names if k in given}
    if "epochs" in changes:  # They are instead of the recipe's steps.
        changes.setdefault("steps", None)
    return dataclasses.replace(recipe, options=options, **changes)


def _default(name):
    """Returns a setting or an option of the recipes, as text, if any has it."""
    values = {
        recipe: {**settings.options, **vars(settings)}[name]
        for recipe, settings in RECIPES.items()
    }
    default = values.pop(DEFAULT_RECIPE)
    others = [f"{k}: {v}" for k, v in values.items() if v != default]
    if default is None and not others:
        return ""
    default = "none" if default is None else default
    return f"Default: {default}" + (f" ({', '.join(others)})" if others else "")
