"""Types of the commands' arguments: functions from what was typed."""

import argparse


def positive_integer(text):
    """Returns an integer of at least 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(
            f"must be an integer of at least 1. Received: {text!r}"
        )
    return number


def number_or_none(text):
    """Returns a number; for `none` infinity, as `None` is: not given."""
    try:
        return float("inf") if text == "none" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be a number or none. Received: {text!r}"
        ) from None
