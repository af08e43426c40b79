"""Says what a model is, its sizes and vocabulary, and how to load it.

It reads all files and arrays: if they are incomplete or corrupt, the error says
so. Without MODEL, it lists the models that have names. MODEL may also be a
.keras file.

[options]

exit status: 0 if MODEL is a model that can be loaded, else 1.

examples:
  keras-elmo inspect
  keras-elmo inspect 210.zip
  keras-elmo inspect my_elmo
  keras-elmo inspect options.json --weights weights.hdf5
"""

import os

from keras_elmo.commands.arguments import add_model_arguments
from keras_elmo.models.presets import PRESETS
from keras_elmo.models.presets import TAGGERS

SUMMARY = "say what a model is, and whether its files are complete"


def add_arguments(parser):
    """Adds the arguments of `keras-elmo inspect`."""
    add_model_arguments(parser.add_argument, nargs="?")


def run(arguments):
    """Runs `keras-elmo inspect`."""
    if arguments.model is None:
        if arguments.weights:
            raise ValueError("--weights needs an options file as MODEL.")
        _list_models()
        return
    # The classes of a language model are known to Keras once they are imported.
    import keras_elmo.pretraining.language_model_trainer  # noqa: F401
    from keras_elmo.layers.elmo_layer import ElmoLayer
    from keras_elmo.models.find_model import find_model

    model = find_model(arguments.model, arguments.weights, names=None)
    print(f"'{arguments.model}': {model.what}")
    for name, text in model.facts(ElmoLayer):
        print(f"  {name}: {text}")
    print(f"To load it: {model.how_to_load()}")


def _list_models():
    here = "in the package"
    rows = [("NAME", "KIND", "SIZE", "WHERE", "LICENCE")]
    for name, preset in PRESETS.items():
        size = f"{preset.megabytes} MB"
        where = here if preset.path else "to download"
        rows.append((name, "ELMo", size, where, preset.license))
    for name, tagger in TAGGERS.items():
        size = f"{os.path.getsize(tagger.head) / 1e6:.0f} MB"
        rows.append((name, "tagger", size, here, "Apache 2.0"))
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(map(str.ljust, row, widths)).rstrip())
    print("\nkeras-elmo inspect NAME says more of a model.")
