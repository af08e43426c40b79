import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo import Highway
from keras_elmo import ProjectedLSTMCell
from keras_elmo.ops.initializers import leave_out_random_values


def matrices(layer):
    layer.build((None, 8))
    return {
        v.name: ops.convert_to_numpy(v) for v in layer.weights if v.ndim == 2
    }


def test_random_values_are_left_out_only_when_told(monkeypatch):
    def no_values(*_, **__):
        raise AssertionError("Values were drawn.")

    layer = Highway()
    monkeypatch.setattr(
        keras.initializers.VarianceScaling, "__call__", no_values
    )
    with leave_out_random_values():
        found = matrices(layer)
        cell = matrices(ProjectedLSTMCell(8, 4))
    assert {name: m.shape for name, m in found.items()} == {
        "carry_kernel": (8, 8),
        "transform_kernel": (8, 8),
    }
    with pytest.raises(AssertionError, match="Values were drawn"):
        matrices(Highway())
    monkeypatch.undo()
    for make in (Highway, lambda: ProjectedLSTMCell(8, 4)):
        for values in matrices(make()).values():
            assert np.unique(values).size == values.size
    assert {name: m.shape for name, m in cell.items()} == {
        "kernel": (8, 32),
        "recurrent_kernel": (4, 32),
        "projection_kernel": (8, 4),
    }


def test_an_error_ends_it():
    with pytest.raises(RuntimeError), leave_out_random_values():
        raise RuntimeError
    assert matrices(Highway())["carry_kernel"].any()
