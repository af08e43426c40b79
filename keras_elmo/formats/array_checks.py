"""Whether a file's arrays are those that its options ask for."""

import numpy as np

# Of the keys that are missing, or too many.
_SHOWN = 20


class WrongArrays(ValueError):
    """A file that can be read, but whose arrays are not those expected."""


def check_keys(found, expected, subject):
    """Raises `WrongArrays` unless two sets of keys are the same.

    `subject` is what the message calls the file: its kind and its name.
    """
    if found == expected:
        return
    missing, unread = sorted(expected - found), sorted(found - expected)
    raise WrongArrays(
        f"The {subject} does not fit its options. "
        f"Expected arrays that it lacks: {_listed(missing)}. "
        f"Received arrays with no place in the model: {_listed(unread)}."
    )


def _listed(keys):
    if len(keys) <= _SHOWN:
        return keys or "none"
    return f"{keys[:_SHOWN]} and {len(keys) - _SHOWN:,} more"


def checked_array(stored, key, shape, subject):
    """Returns `stored`, an HDF5 dataset or an array, as a NumPy array.

    Args:
        stored: What has a shape and a dtype, and is read when these are good.
        key: Its name, for the messages.
        shape: The shape expected. A size may be `None`, which is any.
        subject: What the messages call the file: its kind and its name.

    Raises:
        WrongArrays: If it has another shape, or holds no finite floating-point
            numbers.
    """
    if not _fits(stored.shape, shape):
        raise WrongArrays(
            f"The array '{key}' of the {subject} must have the shape "
            f"{tuple(shape)} by the options. Received: {stored.shape}"
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
    if shape is None:  # HDF5 knows null arrays.
        return False
    return len(shape) == len(expected) and all(
        wanted in (None, size) for size, wanted in zip(shape, expected)
    )
