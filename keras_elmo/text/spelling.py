from keras_elmo.text.special_words import BEGIN_SENTENCE
from keras_elmo.text.special_words import END_SENTENCE


class Spelling:
    """How a token encoder's words become ids. Words are bytes.

    A base for `WordVectorization`'s argument: subclasses say at least
    `token_shape`, `num_ids`, `ids_of_words`, `ids_in_graph` and `get_config`.
    A class of your own is saved with a model if it is registered by
    `keras.saving.register_keras_serializable`, as a layer is.
    """

    boundary_words = (BEGIN_SENTENCE, END_SENTENCE)
    """The words that stand for the sentence boundaries: two `bytes`."""

    begin_id: int | None = None
    """What the ids of every word start with, an integer, or `None`."""

    @property
    def token_shape(self):
        """Shape of one token's ids."""
        raise NotImplementedError

    @property
    def num_ids(self):
        """Integer; ids lie from 0, which is padding, to `num_ids - 1`."""
        raise NotImplementedError

    @property
    def boundary_ids(self):
        """The ids of the boundary words: int32 `(2, *token_shape)`."""
        return self.ids_of_words(list(self.boundary_words))

    def ids_of_words(self, words):
        """From a list of `n` words to int32 `(n, *token_shape)`, in NumPy."""
        raise NotImplementedError

    def ids_in_graph(self, words):
        """As `ids_of_words`, of a string tensor `(n,)`. TensorFlow only."""
        raise NotImplementedError

    def is_cropped(self, word):
        """Whether a word is too long to be read to its end."""
        return False

    def crop(self, word):
        """Returns a word of the same ids, less of what is not read of it."""
        return word

    def get_config(self):
        """Returns the constructor's arguments, which JSON can hold."""
        raise NotImplementedError

    @classmethod
    def from_config(cls, config):
        return cls(**config)
