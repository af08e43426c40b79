from collections.abc import Sequence

import numpy as np

from keras_elmo.checks import check_integer
from keras_elmo.text.token_indexer import TokenIndexer
from keras_elmo.text.token_indexer import framed
from keras_elmo.text.word_table import WordTable

# The marks of a word are swapped, as in the training of ELMoForManyLangs'
# models.
_OF_CHARACTERS = ("<bos>", "<eos>", "<oov>", "<pad>", "<eow>", "<bow>")
BEGIN_SENTENCE, END_SENTENCE, UNKNOWN, PADDING = _OF_CHARACTERS[:4]
BEGIN_WORD, END_WORD = _OF_CHARACTERS[4:]


class CharacterIndexer(TokenIndexer):
    """Turns words into ids of their characters and, if listed, of the word.

    ```
    ids = [<bow>, characters of the word, <eow>, <pad>, <pad>, ..., word]
    ```

    As in ELMoForManyLangs, a character is a Unicode code point, and characters
    and words that are not listed are `<oov>`. Ids are positions in the lists,
    plus one. Without a list of words, there is no last id. In the ids, the two
    marks of a word are swapped, as in these models.

    Args:
        characters: List of distinct strings, each a single code point, plus the
            special entries `<bos>`, `<eos>`, `<oov>`, `<pad>`, `<bow>` and
            `<eow>`.
        words: List of distinct strings including `<oov>`, or `None`.
        max_characters_per_token: Integer, the number of character ids for each
            word. Longer words are cropped.

    Raises:
        ValueError: If a list is not as described.

    Example:

    >>> special = ["<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"]
    >>> indexer = CharacterIndexer([*special, "a", "é"], None, 5)
    >>> indexer.ids_of_words(["éa".encode(), b"x"]).tolist()
    [[6, 8, 7, 5, 4], [6, 3, 5, 4, 4]]
    """

    boundary_words = (BEGIN_SENTENCE.encode(), END_SENTENCE.encode())

    def __init__(
        self,
        characters: Sequence[str],
        words: Sequence[str] | None = None,
        max_characters_per_token: int = 50,
    ):
        check_integer("max_characters_per_token", max_characters_per_token, 3)
        self.max_characters_per_token = int(max_characters_per_token)
        # How many code points of a word are used.
        self._room = self.max_characters_per_token - 2
        characters = _checked("characters", characters, _OF_CHARACTERS)
        self._ids = {c: i for i, c in enumerate(characters, start=1)}
        self.num_characters = len(characters)
        self.begin_id = self._ids[BEGIN_WORD]
        self._marks = self.begin_id, self._ids[END_WORD], self._ids[PADDING]
        self._words = None
        self.num_words = 0
        if words is not None:
            self._words = WordTable(_checked("words", words, (UNKNOWN,)))
            self._unknown_word = self._words.ids[UNKNOWN.encode()]
            self.num_words = len(self._words.ids)
        self.num_ids = max(self.num_characters, self.num_words) + 1
        number = self.max_characters_per_token + (words is not None)
        self.token_shape = (number,)

    def ids_of_words(self, words):
        read = [
            # A boundary is one character, whole at any width.
            [word.decode()]
            if word in self.boundary_words
            else word.decode("utf-8", "replace")[: self._room]
            for word in words
        ]
        lengths = np.array([len(characters) for characters in read], "int32")
        unknown = self._ids[UNKNOWN]
        ids = np.zeros((len(words), self._room + 2), "int32")
        for row, characters in zip(ids, read):
            found = [self._ids.get(c, unknown) for c in characters]
            row[1 : len(found) + 1] = found
        ids = framed(np, ids, lengths, *self._marks)
        if self._words is None:
            return ids
        whole = ("".join(characters).encode() for characters in read)
        word_ids = [self._words.ids.get(x, self._unknown_word) for x in whole]
        return np.column_stack([ids, np.array(word_ids, "int32")])

    def ids_in_graph(self, words):
        import tensorflow as tf

        words = tf.convert_to_tensor(words, tf.string)
        room = self._room
        points = tf.strings.unicode_decode(words, "UTF-8", errors="replace")
        points = points[:, :room]
        ids = self._ids_of_points(points.flat_values)
        ids = points.with_flat_values(ids).to_tensor(shape=(None, room))
        lengths = tf.cast(points.row_lengths(), tf.int32)
        read = tf.strings.unicode_encode(points, "UTF-8")  # (n,)
        for word in self.boundary_words:
            is_mark = words == word
            number = self._ids[word.decode()]
            mark = tf.one_hot(0, room, number, 0, dtype=tf.int32)
            ids = tf.where(is_mark[:, None], mark, ids)
            lengths = tf.where(is_mark, 1, lengths)
            read = tf.where(is_mark, word, read)
        ids = tf.pad(ids, [[0, 0], [1, 1]])  # (n, max_characters_per_token)
        ids = framed(tf, ids, lengths, *self._marks)
        if self._words is not None:
            word_ids = self._words.ids_in_graph(read)
            word_ids = tf.where(word_ids > 0, word_ids, self._unknown_word)
            ids = tf.concat([ids, word_ids[:, None]], axis=1)
        return tf.ensure_shape(ids, (None, *self.token_shape))

    def _ids_of_points(self, points):
        """Ids of code points, int32 `(m,)`."""
        import tensorflow as tf

        known = sorted((ord(c), i) for c, i in self._ids.items() if len(c) == 1)
        # Add an invalid code point, so that the table is never empty.
        keys, ids = np.array([*known, (0x110000, 0)], "int32").T
        index = tf.searchsorted(keys, points)
        is_known = tf.gather(keys, index) == points
        return tf.where(is_known, tf.gather(ids, index), self._ids[UNKNOWN])

    def is_cropped(self, word):
        is_mark = word in self.boundary_words
        return not is_mark and len(word.decode("utf-8", "replace")) > self._room

    def crop(self, word):
        # A code point has at most four bytes.
        return word[: 4 * self.max_characters_per_token]

    def get_config(self):
        words = self._words
        return {
            "characters": list(self._ids),
            "words": None if words is None else words.words,
            "max_characters_per_token": self.max_characters_per_token,
        }


def _checked(argument, items, special):
    """Returns the list if its strings are distinct and include `special`."""
    items = list(items)
    odd = next((x for x in items if not isinstance(x, str)), None)
    if odd is not None:
        raise ValueError(f"`{argument}` must be strings. Received: {odd!r}")
    index_of = {item: i for i, item in enumerate(items)}
    if len(index_of) < len(items):
        twice = next(x for i, x in enumerate(items) if index_of[x] != i)
        raise ValueError(
            f"`{argument}` must not contain duplicates. Received twice: "
            f"{twice!r}"
        )
    missing = [name for name in special if name not in index_of]
    if missing:
        raise ValueError(
            f"`{argument}` must contain {', '.join(special)}. Missing from "
            f"the {len(items)} entries: {', '.join(missing)}"
        )
    return items
