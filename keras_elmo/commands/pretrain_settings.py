"""From what was typed to a training's settings."""

import dataclasses
import math

from keras_elmo.formats.bilm_files import read_options
from keras_elmo.pretraining.model_files import read_model_options
from keras_elmo.pretraining.settings import RECIPES

# Settings by other names in bilm-tf's options file. They are no part of the
# model, so that they may change when a training goes on.
_OPTIONS_SETTINGS = {
    "batch_size": "batch_size",
    "unroll_steps": "unroll_steps",
    "all_clip_norm_val": "clip_norm",
    "n_epochs": "epochs",
}
_OPTIONS_FACTS = ("n_train_tokens",)

_TYPED = (
    "batch_size",
    "unroll_steps",
    "epochs",
    "steps",
    "optimizer",
    "learning_rate",
    "schedule",
    "warmup_steps",
    "clip_norm",
    "accumulation_steps",
    "reset_rate",
    "full_softmax",
    "dtype",
    "seed",
)


def make_settings(arguments):
    """Returns the `Settings` that the arguments of `pretrain` say.

    The recipe's hold where nothing else is said; then those of an options
    file; what was typed comes first.
    """
    settings = RECIPES[arguments.recipe]
    options, changes = settings.options, {}
    if arguments.options is not None:
        options = read_options(arguments.options)
        changes = _training_settings(options)
    elif arguments.initial is not None:
        options, _ = read_model_options(arguments.initial)
    typed = {name: getattr(arguments, name) for name in _TYPED}
    changes |= {k: v for k, v in typed.items() if v is not None}
    if changes.get("clip_norm") == math.inf:
        changes["clip_norm"] = None
    changes["options"] = _model_options(options, arguments)
    return dataclasses.replace(settings, **changes)


def _training_settings(options):
    if not isinstance(options, dict):  # The settings' own check tells.
        return {}
    return {
        name: options[key]
        for key, name in _OPTIONS_SETTINGS.items()
        if key in options
    }


def _model_options(options, arguments):
    if not isinstance(options, dict):
        return options
    left_out = {*_OPTIONS_SETTINGS, *_OPTIONS_FACTS}
    options = {k: v for k, v in options.items() if k not in left_out}
    if arguments.dropout is not None:
        options["dropout"] = arguments.dropout
    if arguments.negatives is not None:
        options["n_negative_samples_batch"] = arguments.negatives
    return options
