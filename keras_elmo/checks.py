"""Checks of arguments, and of the options in files."""

import numbers


def is_integer(value, low, high=None):
    """Whether a value is an integer, and no boolean, from `low` to `high`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        return False
    return value >= low and (high is None or value <= high)
