"""Conversion of words to ids, and the sources of words."""

from keras_elmo.text.byte_indexer import ByteIndexer as ByteIndexer
from keras_elmo.text.byte_indexer import batch_to_ids as batch_to_ids
from keras_elmo.text.character_indexer import (
    CharacterIndexer as CharacterIndexer,
)
from keras_elmo.text.corpora import Sentence as Sentence
from keras_elmo.text.corpora import read_corpus as read_corpus
from keras_elmo.text.token_indexer import TokenIndexer as TokenIndexer
from keras_elmo.text.word_vectorization import (
    WordVectorization as WordVectorization,
)
from keras_elmo.text.word_vectorization import (
    vectorization_of as vectorization_of,
)
