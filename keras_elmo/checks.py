"""Checks of arguments and of options in files."""

import contextlib
import difflib
import numbers
import os

# Far more than any model has, so that a corrupt file is rejected at once.
MOST_LAYERS = 1000
MOST_CHARACTERS = 1000

_flags: dict[str, str] = {}  # of the command that runs, by argument


def argument_name(name, value=None):
    """Returns what a message calls an argument, for its reader.

    In Python it is "`name`" or "`name=value`"; while a command runs, it is the
    flag for it.
    """
    if name in _flags:
        is_flag = value is None or value is True
        return _flags[name] if is_flag else f"{_flags[name]} {value}"
    return f"`{name}`" if value is None else f"`{name}={value!r}`"


@contextlib.contextmanager
def named_by_flags(flags):
    """Context manager in which messages call arguments by their flags.

    The flags hold for the whole process, because a command is all that it runs.
    So errors in threads that a library starts name flags, too. There, a
    `contextvars.ContextVar` would be empty.

    Args:
        flags: Dictionary from the names of arguments to flags.
    """
    _flags.update(flags)
    try:
        yield
    finally:
        _flags.clear()


@contextlib.contextmanager
def needs_packages(what, packages):
    """Context manager whose imports are of optional packages.

    Args:
        what: What needs them, for the message.
        packages: Their names, separated by spaces.

    Raises:
        ImportError: If one of them is not installed, saying how to install it.
    """
    try:
        yield
    except ImportError as error:
        names = " and ".join(packages.split())
        raise ImportError(
            f"{what} needs {names}: pip install {packages}"
        ) from error


def did_you_mean(path, names=()):
    """Returns a question with similar names and files, or `""`.

    Args:
        path: The path that does not exist; its folder's files are considered.
        names: Other strings that could have been meant.
    """
    folder, name = os.path.split(path)
    files = []
    with contextlib.suppress(OSError, ValueError):
        files = os.listdir(folder or ".")
    close = difflib.get_close_matches(name, [*names, *files])
    close += difflib.get_close_matches(name.lower(), names)
    close = dict.fromkeys(close)
    return f" Did you mean {' or '.join(map(repr, close))}?" if close else ""


def is_integer(value, low, high=None):
    """Whether a value is an integer from `low` to `high`, not a boolean."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        return False
    return value >= low and (high is None or value <= high)


def is_number(value):
    """Whether a value is a real number, not a boolean."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def pairs_of_filters(value, max_width):
    """Returns pairs (width, number) of convolutions; `None` if it has others.

    Args:
        value: Iterable of pairs of positive integers.
        max_width: Integer, the largest width.
    """
    try:
        pairs = [(width, number) for width, number in value]
    except (TypeError, ValueError):
        return None
    for width, number in pairs:
        if not is_integer(width, 1, max_width) or not is_integer(number, 1):
            return None
    return pairs or None


def check_integer(name, value, low, optional=False):
    """Raises `ValueError` unless `value` is an integer of at least `low`."""
    if optional and value is None:
        return
    if not is_integer(value, low):
        raise ValueError(
            f"{argument_name(name)} must be an integer of at least {low}"
            f"{' or None' if optional else ''}. Received: {value!r}"
        )


def check_choice(name, value, choices):
    """Raises `ValueError` unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(
            f"{argument_name(name)} must be one of {list(choices)}. "
            f"Received: {value!r}"
        )


def check_built(layer):
    """Raises `ValueError` if a layer or a model has no weights yet."""
    if not layer.built:
        raise ValueError(
            f"{type(layer).__name__} '{layer.name}' has no weights yet: call "
            "it or build it first."
        )


def is_limit(value):
    """Whether a value is a positive number that float32 can represent."""
    return is_number(value) and 1e-37 < value < 3e38


def checked_limit(name, value):
    """Returns a positive number as a float, or `None`; else `ValueError`."""
    if value is None:
        return None
    if not is_limit(value):
        raise ValueError(
            f"`{name}` must be a positive number of float32, or None. "
            f"Received: {value!r}"
        )
    return float(value)
