"""Words as bytes: the character ids that biLMs are trained on.

A word is represented by its UTF-8 bytes between a begin-of-word and an
end-of-word mark, padded to a fixed width. Every id is one more than in the
weight files, so that 0 can mark a padded token.
"""

import functools
from collections.abc import Iterable

import numpy as np

from keras_elmo.checks import check_integer
from keras_elmo.text.token_indexer import TokenIndexer
from keras_elmo.text.token_indexer import framed
from keras_elmo.text.word_lists import padded_batch

# Each is the row in the weight file, plus one.
BEGIN_WORD = 259
END_WORD = 260
PADDING = 261
NUM_IDS = 262
_MARKS = BEGIN_WORD, END_WORD, PADDING

# The characters of `<S>` and `</S>`.
_BOUNDARIES = 257, 258


class ByteIndexer(TokenIndexer):
    """Turns words into ids of their UTF-8 bytes, as `batch_to_ids` does.

    ```
    ids = [259, bytes + 1, 260, 261, 261, ...]     (max_characters_per_token,)
    ```

    A word longer than `max_characters_per_token - 2` bytes is cropped. The
    words `<S>` and `</S>` are the sentence boundaries.

    Args:
        max_characters_per_token: Integer, the number of ids for each word. Must
            match the model (`CharCNNEmbedding.max_characters_per_token`); 50 in
            every published model.

    Example:

    >>> ByteIndexer(6).ids_of_words([b"cat"])
    array([[259, 100,  98, 117, 260, 261]], dtype=int32)
    """

    num_ids = NUM_IDS
    begin_id = BEGIN_WORD

    def __init__(self, max_characters_per_token: int = 50):
        # The marks of a word, and a character.
        check_integer("max_characters_per_token", max_characters_per_token, 3)
        self.max_characters_per_token = int(max_characters_per_token)
        self.token_shape = (self.max_characters_per_token,)
        # How many bytes of a word are used.
        self._room = self.max_characters_per_token - 2

    @functools.cached_property
    def boundary_ids(self):
        ids = np.full((2, *self.token_shape), PADDING, "int32")
        ids[:, 0], ids[:, 1], ids[:, 2] = BEGIN_WORD, _BOUNDARIES, END_WORD
        return ids

    def ids_of_words(self, words):
        room = self._room
        lengths = np.minimum(np.array(list(map(len, words)), "int32"), room)
        text = b"".join(
            [b"\0" + word[:room].ljust(room + 1, b"\0") for word in words]
        )
        ids = np.frombuffer(text, "uint8").reshape(len(words), room + 2)
        ids = framed(np, ids.astype("int32") + 1, lengths, *_MARKS)
        # As in both reference packages, these two words are the boundaries.
        for word, row in zip(self.boundary_words, self.boundary_ids):
            if word in words:
                ids[[i for i, w in enumerate(words) if w == word]] = row
        return ids

    def ids_in_graph(self, words):
        import tensorflow as tf

        # Core operations only, so that it can be part of a `tf.data` pipeline
        # or a SavedModel.
        words = tf.convert_to_tensor(words, tf.string)
        lengths = tf.strings.length(words, unit="BYTE")
        # The padding looks like NUL bytes; the lengths distinguish them.
        ids = tf.io.decode_raw(words, tf.uint8, fixed_length=self._room)
        ids = tf.pad(tf.cast(ids, tf.int32) + 1, [[0, 0], [1, 1]])
        ids = framed(tf, ids, tf.minimum(lengths, self._room), *_MARKS)
        for word, row in zip(self.boundary_words, self.boundary_ids):
            ids = tf.where((words == word)[:, None], row, ids)
        return tf.ensure_shape(ids, (None, *self.token_shape))

    def is_cropped(self, word):
        return len(word) > self._room and word not in self.boundary_words

    def crop(self, word):
        # Never so short that it could become a boundary word.
        return word[: max(self.max_characters_per_token, 5)]

    def get_config(self):
        return {"max_characters_per_token": self.max_characters_per_token}


def batch_to_ids(
    sentences: Iterable[Iterable[str | bytes]],
    max_characters_per_token: int = 50,
) -> np.ndarray:
    """Converts tokenised sentences to a padded batch of character ids.

    Words are case-sensitive: tokenise, but do not lowercase. A word longer than
    `max_characters_per_token - 2` bytes of UTF-8 is cropped
    (`WordVectorization().find_cropped_words` lists such words); code points
    that UTF-8 cannot encode are left out. The words `"<S>"` and `"</S>"` become
    the sentence boundaries.

    Args:
        sentences: List of sentences, each a list of words. A word is a string,
            or bytes that are used unchanged.
        max_characters_per_token: Integer, the number of ids for each word. Must
            match the model (`CharCNNEmbedding.max_characters_per_token`); 50 in
            every published model.

    Returns:
        int32 array of shape `(batch, time, max_characters_per_token)`, where
        `time` is the number of words of the longest sentence. Rows after a
        sentence's last word are all zero, which marks them as padding.

    Raises:
        ValueError: If a sentence is a string instead of a list of words, or a
            word is neither a string nor bytes.

    Example:

    >>> ids = batch_to_ids([["First", "sentence", "."], ["Another", "."]])
    >>> ids.shape
    (2, 3, 50)
    """
    indexer = ByteIndexer(max_characters_per_token)
    return padded_batch(sentences, indexer.ids_of_words)
