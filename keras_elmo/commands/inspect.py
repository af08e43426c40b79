"""The command `keras-elmo inspect`."""

import dataclasses
import json

from keras_elmo.commands.inspect_vectors import compare
from keras_elmo.commands.inspect_vectors import write
from keras_elmo.inspection import inspect_path


def run(arguments):
    """Runs `keras-elmo inspect`; returns 1 if there is something wrong."""
    finding = inspect_path(arguments.path, arguments.weights)
    result = None
    try:
        if arguments.vectors:
            result = write(finding, arguments.vectors)
        elif arguments.verify:
            result = compare(finding, arguments.verify)
    except Exception as error:  # Whatever a strange file leads to.
        finding.problems.append(f"{error}")
    if result is not None and not result.is_good:
        finding.problems.append(result.told)
    if arguments.json:
        content = dataclasses.asdict(finding)
        del content["loader"]
        if result is not None:
            content["vectors"] = result.told
            content["largest_difference"] = result.difference
        print(json.dumps(content, indent=2))
    else:
        _print_finding(finding)
        if result is not None and result.is_good:
            print(result.told)
    return 1 if finding.problems else 0


def _print_finding(finding):
    print(f"'{finding.path}': {finding.what}.")
    width = max(map(len, finding.facts), default=0)
    for name, value in finding.facts.items():
        print(f"  {name:{width}}  {value}")
    if finding.uses:
        print("To use it:")
    for use in finding.uses:
        print(f"  {use}")
    if finding.problems:
        print("What is wrong:")
    for problem in finding.problems:
        print(f"  {problem}")
