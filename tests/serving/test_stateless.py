import keras
import pytest
from small_models import make_shallow_elmo

from keras_elmo.serving.stateless import stateless


def test_all_that_was_stateful_is_so_again():
    ids = keras.Input(batch_shape=(2, None, 12), dtype="int32")
    elmo = make_shallow_elmo()
    lstm = keras.layers.LSTM(3, stateful=True)
    other = keras.layers.LSTM(3)
    model = keras.Model(ids, [lstm(elmo(ids)), other(elmo(ids))])
    with pytest.raises(KeyError), stateless(model):
        assert not (lstm.stateful or other.stateful)
        raise KeyError
    assert lstm.stateful and not other.stateful
