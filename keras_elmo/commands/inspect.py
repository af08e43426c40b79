"""Says what a model is, its sizes and vocabulary, and how to load it.

It reads all files and arrays: if they are incomplete or corrupt, the error says
so.
"""

SUMMARY = "say what a model is, and whether its files are complete"
EPILOG = """\
exit status: 0 if MODEL is a model that can be loaded, else 1.

examples:
  keras-elmo inspect 210.zip
  keras-elmo inspect my_elmo
  keras-elmo inspect options.json weights.hdf5
"""


def add_arguments(parser):
    """Adds the arguments of `keras-elmo inspect`."""
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="name, path or URL of a model, or hf://user/repository: what the "
        "other commands take, or a .keras file; names and URLs are downloaded",
    )
    parser.add_argument(
        "weights",
        metavar="WEIGHTS",
        nargs="?",
        help="the weight file, if MODEL is an options file",
    )


def run(arguments):
    """Runs `keras-elmo inspect`."""
    from keras_elmo.models.find_model import find_model

    model = find_model(arguments.model, arguments.weights)
    print(f"'{arguments.model}': {model.what}")
    for name, text in model.facts():
        print(f"  {name}: {text}")
    print(f"To load it: {model.how_to_load()}")
