"""Tables of which variable is where in a file, to read it and to write it.

A table is a dictionary from the names of variables to `Place`s. In the names
and in the keys, `#` stands for a number: the same one in both.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Transform(NamedTuple):
    """How a variable is stored."""

    shape: Callable = tuple
    """From a variable's shape to that in the file."""
    read: Callable = np.asarray
    """From the file's array to the variable's value."""
    write: Callable = np.asarray
    """The reverse."""


SAME = Transform()
TRANSPOSED = Transform(lambda shape: tuple(shape[::-1]), np.transpose)


class Place(NamedTuple):
    """Where a variable's numbers are in a file.

    Variables of one key lie end to end in its array, along the first axis.
    """

    key: str
    transform: Transform = SAME


def stored_shapes(table, shapes):
    """From the shapes of variables, by name, to those of a file's arrays."""
    stored = {}
    for name, shape in shapes.items():
        key, transform = _place(table, name)
        length, *rest = transform.shape(shape)
        before = stored.get(key, (0,))[0]
        stored[key] = (before + length, *rest)
    return stored


def read_variables(table, shapes, arrays):
    """From a file's arrays to the values of variables, by name.

    The arrays are taken out of the dictionary one by one, so as not to hold
    all numbers twice.
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
    """From the values of variables, by name, to a file's arrays."""
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
