"""Comparisons of arrays and of tensors of any backend."""

import numpy as np
from keras import ops


def assert_equal(found, expected, err_msg=""):
    np.testing.assert_array_equal(
        ops.convert_to_numpy(found), ops.convert_to_numpy(expected), err_msg
    )


def assert_close(found, expected, rtol=1e-5, atol=1e-6, err_msg=""):
    np.testing.assert_allclose(
        ops.convert_to_numpy(found),
        ops.convert_to_numpy(expected),
        rtol,
        atol,
        err_msg=err_msg,
    )


def check_answer(found, expected, tolerance=1e-5):
    """Compares the named outputs of an exported model, also strings.

    Args:
        found: Dictionary of arrays, or an error message.
        expected: Dictionary of arrays.
        tolerance: The largest difference of numbers.
    """
    assert not isinstance(found, str), found
    assert set(found) == set(expected)
    for name, values in expected.items():
        value = np.asarray(found[name])
        assert (value.shape, value.dtype) == (values.shape, values.dtype), name
        if values.dtype == object:
            np.testing.assert_array_equal(value, values, name)
        else:
            difference = np.abs(value - values).max(initial=0)
            assert difference <= tolerance, (name, difference)
