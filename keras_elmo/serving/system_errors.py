"""Turns TensorFlow's file errors into system errors. TensorFlow only."""

import contextlib
import errno

import tensorflow as tf

_NUMBERS = {
    tf.errors.ResourceExhaustedError: errno.ENOSPC,
    tf.errors.OutOfRangeError: errno.EFBIG,
    tf.errors.PermissionDeniedError: errno.EACCES,
}


@contextlib.contextmanager
def system_errors():
    """Context in which TensorFlow's file errors are raised as `OSError`."""
    try:
        yield
    except tuple(_NUMBERS) as error:
        number = _NUMBERS[type(error)]
        raise OSError(number, error.message) from error
