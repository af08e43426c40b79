"""A conditional random field over tag sequences: layers, loss, accuracy."""

from keras_elmo.crf.crf import CRF as CRF
from keras_elmo.crf.crf_decoder import CRFDecoder as CRFDecoder
from keras_elmo.crf.loss_and_accuracy import CRFAccuracy as CRFAccuracy
from keras_elmo.crf.loss_and_accuracy import CRFLoss as CRFLoss
