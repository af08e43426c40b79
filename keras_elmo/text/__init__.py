"""Conversion of words to ids, and the sources of words."""

from keras_elmo.lazy_names import lazy_names as _lazy_names

__all__, __getattr__, __dir__ = _lazy_names(__name__)
