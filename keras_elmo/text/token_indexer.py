"""How words become ids, and the words with a special meaning in biLMs."""

import functools

import numpy as np

BEGIN_SENTENCE = b"<S>"
END_SENTENCE = b"</S>"
UNKNOWN_WORD = b"<UNK>"


class TokenIndexer:
    """Defines how a token encoder's words become ids. Words are bytes.

    Base class of the `indexer` argument of `WordVectorization`. Subclasses
    define at least `token_shape`, `num_ids`, `ids_of_words`, `ids_in_graph` and
    `get_config`. Like a custom layer, a subclass can be saved with a model if
    it is registered with `keras.saving.register_keras_serializable`.
    """

    token_shape: tuple[int, ...]
    """Shape of one token's ids."""

    num_ids: int
    """Integer; ids range from 0, which is padding, to `num_ids - 1`."""

    boundary_words = (BEGIN_SENTENCE, END_SENTENCE)
    """The words that represent the sentence boundaries: two `bytes`."""

    begin_id: int | None = None
    """The first id of every word, an integer, or `None`."""

    @functools.cached_property
    def boundary_ids(self):
        """The ids of the boundary words: int32 `(2, *token_shape)`."""
        return self.ids_of_words(list(self.boundary_words))

    def ids_of_words(self, words):
        """Converts a list of `n` words to int32 `(n, *token_shape)` (NumPy)."""
        raise NotImplementedError

    def ids_in_graph(self, words):
        """Like `ids_of_words`, for a string tensor `(n,)`. TensorFlow only."""
        raise NotImplementedError

    def is_cropped(self, word):
        """Whether a word is too long, so that its end is ignored."""
        return False

    def crop(self, word):
        """Returns a word with the same ids, without most of the ignored end."""
        return word

    def get_config(self):
        """Returns the constructor's arguments, in a form that fits JSON."""
        raise NotImplementedError

    @classmethod
    def from_config(cls, config):
        return cls(**config)


def framed(xp, ids, lengths, begin, end, padding):
    """Puts a word's marks around its characters, and padding after them.

    Args:
        xp: The module `numpy` or `tensorflow`.
        ids: int32 `(n, width)`, each word's characters from column 1 on; all
            else is ignored.
        lengths: int32 `(n,)`, how many characters a word has.
        begin: Integer, the id of the mark before a word.
        end: Integer, the id of the mark after it.
        padding: Integer, the id after that.

    Returns:
        int32 `(n, width)`.
    """
    positions = np.arange(ids.shape[1], dtype="int32")
    ends = lengths[:, None] + 1  # (n, 1)
    ids = xp.where(ends > positions, ids, padding)
    ids = xp.where(ends == positions, end, ids)
    return xp.where(positions == 0, begin, ids)
