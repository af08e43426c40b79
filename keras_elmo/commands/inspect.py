"""The command `keras-elmo inspect`."""

import dataclasses
import json

from keras_elmo.commands.inspect_vectors import compare
from keras_elmo.commands.inspect_vectors import write
from keras_elmo.inspection import inspect_path


def run(arguments):
    """Runs `keras-elmo inspect`; returns 1 if there is something wrong."""
    inspection = inspect_path(arguments.path, arguments.weights)
    result = None
    try:
        if arguments.vectors:
            result = write(inspection, arguments.vectors)
        elif arguments.verify:
            result = compare(inspection, arguments.verify)
    except Exception as error:  # Whatever a strange file leads to.
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
