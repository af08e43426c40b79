import keras
import numpy as np
import numpy_reference
import pytest
from comparisons import assert_close
from keras import ops
from small_models import make_elmo
from small_models import oracle_arguments

from keras_elmo import ProjectedLSTMCell


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"projection_dim": None},
        {"projection_dim": 7},
        {"cell_clip": None, "proj_clip": None},
        {"cell_clip": 0.2, "proj_clip": 0.1},
    ],
    ids=str,
)
def test_a_step_equals_the_oracle(options):
    elmo = make_elmo(lstm=options)
    cell = elmo.encoder.forward_cells[0]
    generator = np.random.default_rng(0)
    x, h, c = (
        generator.normal(size=(3, size))
        for size in (elmo.encoder.output_dim, cell.output_size, cell.units)
    )
    arguments = oracle_arguments(elmo)
    root = "RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell/"
    expected = [
        numpy_reference.lstm_step(
            x[i],
            h[i],
            c[i],
            arguments["arrays"],
            root,
            cell.cell_clip,
            cell.proj_clip,
        )
        for i in range(3)
    ]
    output, states = cell(
        x.astype("float32"), [h.astype("float32"), c.astype("float32")]
    )
    for got, i in ((output, 0), (states[0], 0), (states[1], 1)):
        assert_close(got, [pair[i] for pair in expected])


def test_is_a_cell_for_keras_rnn():
    encoder = make_elmo().encoder
    x = np.random.default_rng(0).normal(size=(2, 4, 6)).astype("float32")
    rnn = keras.layers.RNN(encoder.forward_cells[0], return_sequences=True)
    first = ops.convert_to_numpy(encoder(x)[0])
    assert_close(rnn(x), first[..., :6])


def test_sizes_without_projection():
    assert ProjectedLSTMCell(5).state_size == [5, 5]
    assert ProjectedLSTMCell(5, 5).has_projection is False
    assert ProjectedLSTMCell(5, 3).state_size == [3, 5]
