"""Small taggers with random weights."""

import keras
from small_models import make_shallow_elmo

from keras_elmo import CRF
from keras_elmo import CRFDecoder


def make_tagger(tag_names):
    """Returns a Keras model that ends in a CRF."""
    ids, elmo = keras.Input((None, 12), dtype="int32"), make_shallow_elmo()
    x = keras.layers.Dense(len(tag_names))(elmo(ids))
    scores = CRF(len(tag_names), name="crf")(x, mask=elmo.compute_mask(ids))
    return keras.Model(
        ids, CRFDecoder(tag_names=tag_names, name="tags")(scores)
    )
