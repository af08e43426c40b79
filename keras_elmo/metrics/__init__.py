"""Metrics for Keras' `compile`."""

from keras_elmo.metrics.crf_accuracy import CRFAccuracy

__all__ = ["CRFAccuracy"]
