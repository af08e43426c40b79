"""A tagger that ends in a CRF, with random weights."""

import keras
from small_models import make_shallow_elmo
from small_models import randomize

from keras_elmo import CRF
from keras_elmo import CRFDecoder

L = keras.layers
BIO = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def ids_input():
    return keras.Input((None, 12), dtype="int32")


def crf_tagger(decoder=(), crf=(), scale=3.0, **kwargs):
    ids, elmo = ids_input(), make_shallow_elmo(**kwargs)
    mask = elmo.compute_mask(ids)
    lstm = L.Bidirectional(L.LSTM(4, return_sequences=True))
    x = L.Dropout(0.5)(lstm(elmo(ids), mask=mask))
    scores = CRF(5, name="crf", **dict(crf))(L.Dense(5)(x), mask=mask)
    options = {"tag_names": BIO, "name": "tags", **dict(decoder)}
    model = keras.Model(ids, CRFDecoder(**options)(scores))
    for layer in model.layers[2:]:
        randomize(layer, scale)
    return model
