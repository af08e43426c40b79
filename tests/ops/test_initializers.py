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


@pytest.mark.parametrize("make", [Highway, lambda: ProjectedLSTMCell(8, 4)])
def test_random_values_are_left_out_only_when_told(make):
    with leave_out_random_values():
        zeros = matrices(make())
    drawn = matrices(make())
    assert zeros.keys() == drawn.keys() and len(zeros) > 1
    for name, values in drawn.items():
        assert not zeros[name].any()
        assert np.unique(values).size == values.size


def test_an_error_ends_it():
    with pytest.raises(RuntimeError), leave_out_random_values():
        raise RuntimeError
    assert matrices(Highway())["carry_kernel"].any()
