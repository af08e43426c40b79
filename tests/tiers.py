"""Which tests are for `make test`, and which for `make test-all` alone."""

import pytest


def is_quick(config):
    """Whether a run of pytest is that of `make test`."""
    return config.getoption("markexpr") == "not exhaustive"


def quick_first(values, number=1):
    """Values for `parametrize`, of which `make test` takes the first.

    Args:
        values: List; a tuple is of several arguments.
        number: Integer, how many of them `make test` takes.
    """
    return [*values[:number], *map(_exhaustive, values[number:])]


def _exhaustive(value):
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=pytest.mark.exhaustive)
