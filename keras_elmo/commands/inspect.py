import dataclasses
import json

_DESCRIPTION = """\
Reports what a file or folder is, what it can be used for, and what is wrong
with it. Run it first when something does not load.

PATH can be anything: the options or weights of a biLM, a folder or .zip of
both (AllenNLP, bilm-tf, NLPL, simple_elmo), a checkpoint of bilm-tf, a model of
ELMoForManyLangs, a folder written by save_to_preset or keras-elmo pretrain, a
.keras file, a SavedModel, a vocabulary, word vectors, embeddings of a
vocabulary or of a corpus, the name of a model, or hf://user/repository.
"""

_EPILOG = """\
To check that a model is the same on another machine, write its vectors here and
compare them there:
  keras-elmo inspect my_elmo --vectors vectors.npz
  keras-elmo inspect my_elmo --verify vectors.npz
The file holds all layers of three sentences. Models count as the same if no
value differs by more than 1e-4 of the largest value in its layer: differences
between machines or library versions are smaller, and those between different
weights are larger.

exit status: 0 if all is well, 1 if something is wrong with PATH or the vectors
differ, 2 if the command line is wrong.

examples:
  keras-elmo inspect weights.hdf5
  keras-elmo inspect options.json weights.hdf5
  keras-elmo inspect 210.zip --json
"""


def add_parser(verbs):
    """Adds the subcommand to `keras-elmo`."""
    parser = verbs.add_parser(
        "inspect",
        help="report what a file or folder is, and what is wrong with it",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    add("path", metavar="PATH", help="the file or folder")
    add(
        "weights",
        metavar="WEIGHTS",
        nargs="?",
        help="the weight file, if PATH is its options file",
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--vectors",
        metavar="FILE",
        help="write the model's vectors of three sentences (.npz)",
    )
    group.add_argument(
        "--verify",
        metavar="FILE",
        help="compare the model's vectors with those in such a file",
    )
    add("--json", action="store_true", help="print a JSON object")


def run(arguments):
    """Runs `keras-elmo inspect`; returns 1 if something is wrong."""
    from keras_elmo.commands.inspect_vectors import compare
    from keras_elmo.commands.inspect_vectors import write
    from keras_elmo.inspection import inspect_path

    inspection = inspect_path(arguments.path, arguments.weights)
    result = None
    try:
        if arguments.vectors:
            result = write(inspection, arguments.vectors)
        elif arguments.verify:
            result = compare(inspection, arguments.verify)
    except Exception as error:  # A strange file can cause any error.
        inspection.problems.append(f"{error}")
    if result is not None and not result.is_good:
        inspection.problems.append(result.message)
    if arguments.json:
        content = dataclasses.asdict(inspection)
        del content["model"]
        if result is not None:
            content["vectors"] = result.message
            content["largest_difference"] = result.difference
        print(json.dumps(content, indent=2))
    else:
        _print_inspection(inspection)
        if result is not None and result.is_good:
            print(result.message)
    return 1 if inspection.problems else 0


def _print_inspection(inspection):
    print(f"'{inspection.path}': {inspection.what}.")
    width = max(map(len, inspection.facts), default=0)
    for name, value in inspection.facts.items():
        print(f"  {name:{width}}  {value}")
    if inspection.uses:
        print("To use it:")
    for use in inspection.uses:
        print(f"  {use}")
    if inspection.problems:
        print("What is wrong:")
    for problem in inspection.problems:
        print(f"  {problem}")
