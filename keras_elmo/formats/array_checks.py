"""Checks that the arrays of a file match its options."""

import numpy as np

# Number of missing or unexpected keys in a message.
_SHOWN = 20


class WrongArrays(ValueError):
    """The arrays of a readable file are not those expected."""


def check_keys(found, expected, subject):
    """Raises `WrongArrays` unless two sets of keys are the same.

    `subject` describes the file in the message: its kind and its name.
    """
    if found == expected:
        return
    missing, unread = sorted(expected - found), sorted(found - expected)
    raise WrongArrays(
        f"The {subject} does not match its options. "
        f"Expected arrays that are missing: {_listed(missing)}. "
        f"Received arrays that are not in the model: {_listed(unread)}."
    )


def _listed(keys):
    if len(keys) <= _SHOWN:
        return keys or "none"
    return f"{keys[:_SHOWN]} and {len(keys) - _SHOWN:,} more"


def checked_array(stored, key, shape, subject):
    """Returns `stored`, an HDF5 dataset or an array, as a NumPy array.

    Args:
        stored: Object with a shape and a dtype, read only if these are right.
        key: Its name, for the messages.
        shape: The expected shape. A size of `None` matches any.
        subject: Describes the file in messages: its kind and its name.

    Raises:
        WrongArrays: If it has another shape, or its values are not finite
            floating-point numbers.
    """
    if not _fits(stored.shape, shape):
        raise WrongArrays(
            f"The array '{key}' of the {subject} must have the shape "
            f"{tuple(shape)} of the options. Received: {stored.shape}"
        )
    if stored.dtype.kind != "f":
        raise WrongArrays(
            f"The array '{key}' of the {subject} must hold floating-point "
            f"numbers. Received: dtype={stored.dtype}"
        )
    array = np.asarray(stored)
    if not np.isfinite(array).all():
        raise WrongArrays(
            f"The array '{key}' of the {subject} must hold finite numbers. "
            "Received: an infinity or a NaN"
        )
    return array


def _fits(shape, expected):
    if shape is None:  # HDF5 has null arrays.
        return False
    return len(shape) == len(expected) and all(
        wanted in (None, size) for size, wanted in zip(shape, expected)
    )
