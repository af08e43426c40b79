"""The graphs that eager calls run, on TensorFlow."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo.ops.compiled_when_eager import CompiledWhenEager

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Only TensorFlow has it."
)


@pytest.fixture
def counted():
    """A function, and a list of the runs of its Python code."""
    runs = []

    def function(x, y=None, factor=1):
        runs.append(factor)
        return x * factor if y is None else x * factor + y[0]

    return function, runs


def ones(*shape, dtype="float32"):
    return ops.ones(shape, dtype)


def test_one_graph_serves_all_sizes(counted):
    function, runs = counted
    compiled = CompiledWhenEager(function)
    for shape in ((2, 3), (5, 3), (1, 3)):
        np.testing.assert_array_equal(compiled(ones(*shape), factor=2), 2)
    assert runs == [2]


def test_another_kind_of_call_has_another_graph(counted):
    function, runs = counted
    compiled = CompiledWhenEager(function)
    for x in (ones(2, 3), ones(2, 4), ones(3), ones(2, 3, dtype="int32")):
        for _ in range(2):
            np.testing.assert_array_equal(compiled(x), 1)
            np.testing.assert_array_equal(compiled(x, [x]), 2)
    assert len(runs) == 8


def test_there_is_no_graph_for_who_wants_none(counted):
    import tensorflow as tf

    function, runs = counted
    compiled = CompiledWhenEager(function)
    compiled(ones(2, 3))
    tf.config.run_functions_eagerly(True)
    try:
        compiled(ones(2, 3))
        compiled(ones(2, 3))
    finally:
        tf.config.run_functions_eagerly(False)
    assert len(runs) == 3
