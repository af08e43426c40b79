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
