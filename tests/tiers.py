"""Selects the tests for `make test` and those only for `make test-all`."""

import pytest


def is_quick(config):
    """Whether this is the pytest run of `make test`."""
    return config.getoption("markexpr") == "not exhaustive"


def quick_first(values, number=1):
    """Returns values for `parametrize`; `make test` uses only the first ones.

    Args:
        values: List. A tuple has the values of several arguments.
        number: Integer, how many of them `make test` uses.
    """
    return [*values[:number], *map(_exhaustive, values[number:])]


def _exhaustive(value):
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=pytest.mark.exhaustive)
