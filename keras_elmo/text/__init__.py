"""Words to character ids."""

from keras_elmo.text.character_ids import batch_to_ids
from keras_elmo.text.character_ids import find_cropped_words

__all__ = ["batch_to_ids", "find_cropped_words"]
