# The one list of the public names: `__init__.py` reads it.
from keras_elmo.text.corpora import read_corpus as read_corpus
from keras_elmo.text.labelled_text import read_conll as read_conll
from keras_elmo.text.raw_text import tokenize as tokenize
