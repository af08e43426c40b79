"""Conversion of words to ids, and the sources of words."""

from keras_elmo.text.byte_spelling import ByteSpelling
from keras_elmo.text.byte_spelling import batch_to_ids
from keras_elmo.text.character_spelling import CharacterSpelling
from keras_elmo.text.corpora import Sentence
from keras_elmo.text.corpora import read_corpus
from keras_elmo.text.spelling import Spelling
from keras_elmo.text.vocabulary_spelling import VocabularySpelling
from keras_elmo.text.word_vectorization import WordVectorization
from keras_elmo.text.word_vectorization import vectorization_of

__all__ = [
    "ByteSpelling",
    "CharacterSpelling",
    "Sentence",
    "Spelling",
    "VocabularySpelling",
    "WordVectorization",
    "batch_to_ids",
    "read_corpus",
    "vectorization_of",
]
