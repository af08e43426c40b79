"""Argument checks."""

import numbers

from keras_elmo.checks import is_integer


def check_integer(name, value, low, optional=False):
    """Raises `ValueError` unless `value` is an integer of at least `low`."""
    if optional and value is None:
        return
    if not is_integer(value, low):
        raise ValueError(
            f"`{name}` must be an integer of at least {low}"
            f"{' or None' if optional else ''}. Received: {value!r}"
        )


def check_choice(name, value, choices):
    """Raises `ValueError` unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(
            f"`{name}` must be one of {list(choices)}. Received: {value!r}"
        )


def check_limit(name, value):
    """Raises `ValueError` unless `value` is a positive number or `None`."""
    if value is None:
        return
    if not isinstance(value, numbers.Real) or not value > 0:
        raise ValueError(
            f"`{name}` must be a positive number or None. Received: {value!r}"
        )
