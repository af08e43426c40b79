import keras
import pytest
from small_models import make_shallow_elmo

from keras_elmo.serving.stateless import stateless


def test_all_that_was_stateful_is_so_again():
    ids = keras.Input(batch_shape=(2, None, 12), dtype="int32")
    elmo = make_shallow_elmo(stateful=True)
    lstm = keras.layers.LSTM(3, stateful=True)
    other = keras.layers.LSTM(3)
    model = keras.Model(ids, [lstm(elmo(ids)), other(elmo(ids))])
    with pytest.raises(KeyError), stateless(model):
        assert not (elmo.stateful or lstm.stateful or other.stateful)
        assert not elmo.encoder.stateful
        raise KeyError
    assert elmo.stateful and elmo.encoder.stateful and lstm.stateful
    assert not other.stateful
