"""Tables of where variables are stored in a file, for reading and writing.

A table is a dictionary from the names of variables to `Place`s. In names and
keys, `#` stands for a number, the same one in both.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np


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


class Place(NamedTuple):
    """Where the values of a variable are in a file.

    Variables with the same key are concatenated in its array along the first
    axis.
    """

    key: str
    transform: Transform = SAME


def stored_shapes(table, shapes):
    """Maps the shapes of variables, by name, to those of a file's arrays."""
    stored = {}
    for name, shape in shapes.items():
        key, transform = _place(table, name)
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
        key, transform = _place(table, name)
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
        key, transform = _place(table, name)
        parts.setdefault(key, []).append(transform.write(value))
    return {
        key: arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
        for key, arrays in parts.items()
    }


def _place(table, name):
    number = re.search(r"\d+", name)
    if number is None:
        return table[name]
    key, transform = table[name.replace(number.group(), "#")]
    return key.replace("#", number.group()), transform
