"""Conversion of words to ids, and the sources of words."""

from keras_elmo.text.corpora import read_corpus

__all__ = ["read_corpus"]
