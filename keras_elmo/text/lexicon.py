"""Lists of characters and of words, and what of a word is looked up in them.

They are those of ELMoForManyLangs: a character is a Unicode code point, a word
lies between two marks, and what is in no list is `<oov>`.
"""

import numpy as np

from keras_elmo.text.character_ids import checked_width

BEGIN_SENTENCE, END_SENTENCE = "<bos>", "<eos>"
UNKNOWN, PADDING = "<oov>", "<pad>"
# Their models are trained with these two the other way round.
BEGIN_WORD, END_WORD = "<eow>", "<bow>"

_OF_CHARACTERS = (
    *(BEGIN_SENTENCE, END_SENTENCE),
    *(UNKNOWN, PADDING, BEGIN_WORD, END_WORD),
)
_OF_WORDS = (UNKNOWN,)


class Lexicon:
    """The characters, and perhaps words, that a token encoder has vectors of.

    A word becomes `max_characters_per_token` ids of characters, and one more of
    the word itself if there are words. Ids are places in the lists, plus one:
    0 is free to mark a padded token.

    Args:
        characters: Iterable of distinct strings. Of more than one code point
            are the special ones, `<bos>`, `<eos>`, `<oov>`, `<pad>`, `<bow>`
            and `<eow>`, which must be among them.
        words: Iterable of distinct strings, `<oov>` among them, or `None`.
        max_characters_per_token: Integer, the number of ids of characters that
            a word has. Of longer words the end is cut off.

    Raises:
        ValueError: If a list is not as described.
    """

    def __init__(self, characters, words, max_characters_per_token):
        self.width = checked_width(max_characters_per_token)
        self.character_ids = _numbered("characters", characters, _OF_CHARACTERS)
        self.word_ids = None
        if words is not None:
            self.word_ids = _numbered("words", words, _OF_WORDS)

    @property
    def token_shape(self):
        """Shape of one token's ids."""
        return (self.width + (self.word_ids is not None),)

    @property
    def num_ids(self):
        """Integer; ids lie from 0 to `num_ids - 1`."""
        return max(len(self.character_ids), len(self.word_ids or ())) + 1

    def config(self):
        """Returns the arguments that make the same one, as a dictionary."""
        words = self.word_ids
        return {
            "characters": list(self.character_ids),
            "words": None if words is None else list(words),
            "max_characters_per_token": self.width,
        }

    def special_id(self, name):
        """The id of a special character, such as `<pad>`."""
        return self.character_ids[name]

    def read(self, word):
        """Returns what is read of a word, given as bytes: a string."""
        return word.decode("utf-8", "replace")[: self.width - 2]

    def is_cropped(self, word):
        """Whether a word, as bytes, is too long to be read to its end."""
        return len(word.decode("utf-8", "replace")) > self.width - 2

    def ids_of_words(self, words):
        """From a list of words, as bytes, to int32 `(words, *token_shape)`."""
        ids = np.zeros((len(words), *self.token_shape), dtype="int32")
        ids[:, : self.width] = self.special_id(PADDING)
        ids[:, 0] = self.special_id(BEGIN_WORD)
        unknown = self.special_id(UNKNOWN)
        for row, word in zip(ids, words):
            text = self.read(word)
            if word in (BEGIN_SENTENCE.encode(), END_SENTENCE.encode()):
                text = word.decode()
                body = [self.special_id(text)]
            else:
                body = [self.character_ids.get(c, unknown) for c in text]
            row[1 : len(body) + 1] = body
            row[len(body) + 1] = self.special_id(END_WORD)
            if self.word_ids is not None:
                row[-1] = self.word_ids.get(text, self.word_ids[UNKNOWN])
        return ids


def _numbered(argument, items, special):
    """Returns a dictionary from strings to ids, from 1."""
    items = list(items)
    odd = next((x for x in items if not isinstance(x, str)), None)
    if odd is not None:
        raise ValueError(f"`{argument}` must be strings. Received: {odd!r}")
    ids = {item: i for i, item in enumerate(items, start=1)}
    if len(ids) < len(items):
        twice = next(x for i, x in enumerate(items) if ids[x] != i + 1)
        raise ValueError(
            f"Each of `{argument}` must be there once. Received twice: "
            f"{twice!r}"
        )
    missing = [name for name in special if name not in ids]
    if missing:
        raise ValueError(
            f"`{argument}` must hold {', '.join(special)}. "
            f"Missing, of {len(items)}: {', '.join(missing)}"
        )
    return ids
