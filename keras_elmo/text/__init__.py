"""Conversion of words to ids, and the sources of words."""

from keras_elmo.text.corpora import read_corpus
from keras_elmo.text.raw_text import tokenize
from keras_elmo.text.tagged_text import read_conll

__all__ = ["read_conll", "read_corpus", "tokenize"]
