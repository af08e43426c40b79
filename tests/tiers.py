"""Selects the quick tests, which `make test` runs, and the exhaustive ones.

`make test-ci` runs the quick tests as `make test` does, and then the others.
"""

import pytest

QUICK = "not exhaustive"  # As in the Makefile.


def is_quick(config):
    """Whether this is a run of only the quick tests, as in `make test`."""
    return config.getoption("markexpr") == QUICK


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
