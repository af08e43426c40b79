import keras
import numpy as np
from comparisons import assert_close
from keras import ops
from small_models import make_elmo

from keras_elmo import ProjectedLSTMCell


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
    assert ProjectedLSTMCell(5, 1).state_size == [1, 5]
