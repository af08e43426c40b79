"""The arrays of a file: tables of the variables in them, and checks.

A table is a dictionary from the names of variables to `Entry` objects. In
names and keys, `#` stands for a number, the same one in both.
"""

import contextlib
import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from keras_elmo.files.untrusted_files import UntrustedFile
from keras_elmo.formats.bilm_names import WORD_INPUT_IS_REFUSED
from keras_elmo.formats.bilm_names import WORD_VECTORS

# Number of missing or unexpected keys in a message.
_SHOWN = 20


class Transform(NamedTuple):
    """How a variable is stored."""

    shape: Callable = tuple
    """Maps a variable's shape to that in the file."""
    read: Callable = np.asarray
    """Maps the file's array to the variable's value."""
    write: Callable = np.asarray
    """The inverse of `read`."""


SAME = Transform()
TRANSPOSED = Transform(lambda shape: tuple(shape[::-1]), np.transpose)
# As two-dimensional, with height one.
CONVOLUTION = Transform(
    lambda shape: (1, *shape), lambda array: array[0], lambda value: value[None]
)


class Entry(NamedTuple):
    """Where the values of a variable are in a file.

    Variables with the same key are concatenated in its array along the first
    axis.
    """

    key: str
    transform: Transform = SAME


def prefixed(variables, keys, table):
    """Returns a table with prefixes before its variables and their keys."""
    return {
        f"{variables}{name}": entry._replace(key=f"{keys}{entry.key}")
        for name, entry in table.items()
    }


def stored_shapes(table, shapes):
    """Maps the shapes of variables, by name, to those of a file's arrays."""
    stored = {}
    for name, shape in shapes.items():
        key, transform = _find_entry(table, name)
        length, *rest = transform.shape(shape)
        before = stored.get(key, (0,))[0]
        stored[key] = (before + length, *rest)
    return stored


def read_variables(table, shapes, arrays):
    """Maps a file's arrays to the values of variables, by name.

    The arrays are removed from the dictionary one by one, so that the values
    are not all in memory twice.
    """
    values = {}
    for name, shape in shapes.items():
        key, transform = _find_entry(table, name)
        length = transform.shape(shape)[0]
        values[name] = transform.read(arrays[key][:length])
        arrays[key] = arrays[key][length:]
        if not len(arrays[key]):
            del arrays[key]
    return values


def stored_arrays(table, values):
    """Maps the values of variables, by name, to a file's arrays."""
    parts = {}
    for name, value in values.items():
        key, transform = _find_entry(table, name)
        parts.setdefault(key, []).append(transform.write(value))
    return {
        key: arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
        for key, arrays in parts.items()
    }


def _find_entry(table, name):
    number = re.search(r"\d+", name)
    if number is None:
        return table[name]
    key, transform = table[name.replace(number.group(), "#")]
    return key.replace("#", number.group()), transform


class WrongArrays(ValueError):
    """The arrays of a readable file are not those expected."""


@contextlib.contextmanager
def naming_file(subject):
    """Context manager that reads a file, and names it in every error.

    Args:
        subject: Describes the file in messages: its kind and its name.

    Raises:
        ValueError: For whatever is raised, which depends on where a file is
            corrupt. A `WrongArrays` is raised unchanged.
    """
    try:
        yield
    except WrongArrays:
        raise
    except UntrustedFile as error:
        raise ValueError(f"The {subject} was not read: {error}.") from error
    except Exception as error:
        raise ValueError(
            f"The {subject} cannot be read; it may be truncated or have "
            f"another format. The error was: {error}"
        ) from error


def checked_arrays(stored, shapes, subject):
    """Returns the arrays of a file, which must be exactly the expected ones.

    Args:
        stored: Dictionary from key to an HDF5 dataset, or another object with a
            shape and a dtype, which is read only if these are right.
        shapes: Dictionary from key to expected shape. A size of `None` matches
            any.
        subject: Describes the file in messages: its kind and its name.

    Returns:
        Dictionary from key to NumPy array.

    Raises:
        WrongArrays: If an array is missing, unexpected, of the wrong shape or
            not of finite floating-point numbers.
    """
    missing = sorted(shapes.keys() - stored.keys())
    unread = sorted(stored.keys() - shapes.keys())
    if WORD_VECTORS in unread:
        raise WrongArrays(
            f"The {subject} has vectors of whole words, the array "
            f"'{WORD_VECTORS}'. {WORD_INPUT_IS_REFUSED}"
        )
    if missing or unread:
        raise WrongArrays(
            f"The {subject} does not match its options. "
            f"Expected arrays that are missing: {_listed(missing)}. "
            f"Received arrays that are not in the model: {_listed(unread)}."
        )
    return {
        key: _checked_array(stored[key], key, shape, subject)
        for key, shape in shapes.items()
    }


def _listed(keys):
    if len(keys) <= _SHOWN:
        return keys or "none"
    return f"{keys[:_SHOWN]} and {len(keys) - _SHOWN:,} more"


def _checked_array(stored, key, shape, subject):
    def fail(expected, received):
        raise WrongArrays(
            f"The array '{key}' of the {subject} must {expected}. "
            f"Received: {received}"
        )

    if not _fits(stored.shape, shape):
        expected = f"have the shape {tuple(shape)} of the options"
        fail(expected, stored.shape)
    if stored.dtype.kind != "f":
        fail("hold floating-point numbers", f"dtype={stored.dtype}")
    array = np.asarray(stored)
    if not np.isfinite(array).all():
        fail("hold finite numbers", "an infinity or a NaN")
    return array


def _fits(shape, expected):
    # HDF5 has null arrays, whose shape is `None`.
    if shape is None or len(shape) != len(expected):
        return False
    return all(wanted in (None, size) for size, wanted in zip(shape, expected))
