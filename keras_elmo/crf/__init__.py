"""A conditional random field over tag sequences: layers, loss, accuracy."""

from keras_elmo.crf.crf import CRF
from keras_elmo.crf.crf_decoder import CRFDecoder
from keras_elmo.crf.loss_and_accuracy import CRFAccuracy
from keras_elmo.crf.loss_and_accuracy import CRFLoss

__all__ = ["CRF", "CRFAccuracy", "CRFDecoder", "CRFLoss"]
