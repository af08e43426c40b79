"""Losses for Keras' `compile`."""

from keras_elmo.losses.crf_loss import CRFLoss

__all__ = ["CRFLoss"]
