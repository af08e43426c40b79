"""Words to character ids, and where the words come from."""

from keras_elmo.text.character_ids import batch_to_ids
from keras_elmo.text.character_ids import find_cropped_words
from keras_elmo.text.character_vectorization import CharacterVectorization
from keras_elmo.text.corpora import Sentence
from keras_elmo.text.corpora import read_corpus
from keras_elmo.text.known_word_vectorization import KnownWordVectorization
from keras_elmo.text.lexicon_vectorization import LexiconVectorization
from keras_elmo.text.token_vectorization import TokenVectorization
from keras_elmo.text.vectorization_of import vectorization_of
from keras_elmo.text.word_vectorization import WordVectorization
from keras_elmo.text.word_vectors import read_word_vectors

__all__ = [
    "CharacterVectorization",
    "KnownWordVectorization",
    "LexiconVectorization",
    "Sentence",
    "TokenVectorization",
    "WordVectorization",
    "batch_to_ids",
    "find_cropped_words",
    "read_corpus",
    "read_word_vectors",
    "vectorization_of",
]
