"""What the programs have in common: their arguments and their results."""

import argparse
import datetime
import json
import pathlib

import machine


def make_parser(description):
    """Returns a parser that shows a program's docstring as it is written."""
    return argparse.ArgumentParser(
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def begin_results(**content):
    """Returns a dictionary with the date and the machine."""
    date = str(datetime.date.today())
    return {"date": date, "machine": machine.describe(), **content}


def write_results(path, results):
    """Writes a JSON file."""
    content = json.dumps(results, indent=1)
    pathlib.Path(path).write_text(content + "\n")
