"""What several verbs' arguments have in common."""

import argparse


def positive_integer(text):
    """Returns what was typed as an integer of at least 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(
            f"must be an integer of at least 1. Received: {text!r}"
        )
    return number


def add_threads(add):
    """Adds `--threads`, which is for `set_threads`."""
    add(
        "--threads",
        type=positive_integer,
        metavar="N",
        help="processors to use. Default: all, without a GPU",
    )
