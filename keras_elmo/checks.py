"""Checks of arguments and of options in files."""

import numbers


def is_integer(value, low, high=None):
    """Whether a value is an integer from `low` to `high`, not a boolean."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        return False
    return value >= low and (high is None or value <= high)


def is_number(value):
    """Whether a value is an integer or a float, not a boolean."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
