"""Streams of sentences, and of the windows of words made of them."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from keras_elmo.choices import DIRECTIONS
from keras_elmo.pretraining.corpus_shards import ShardLines
from keras_elmo.pretraining.corpus_shards import find_shards
from keras_elmo.text.token_indexer import BEGIN_SENTENCE
from keras_elmo.text.token_indexer import END_SENTENCE


class SentencePosition(NamedTuple):
    """The position of a sentence in the passes over a corpus, all from 0."""

    corpus_pass: int
    shard: int
    """Its shard's position in the order of the pass."""
    sentence: int
    """Its position in the order of the shard."""


class SentenceStream:
    """Draws the sentences of a corpus, in endless passes.

    Each pass shuffles the shards, and the sentences of each shard, in an order
    that depends on `seed`, `key` and the number of the pass. One shard is open
    at a time.

    Args:
        paths: List of the shards' paths.
        key: Non-negative integer; streams with different keys have different
            orders.
        seed: Non-negative integer, seed of the orders.
    """

    def __init__(self, paths, key, seed):
        self._paths = paths
        self._key = key
        self._seed = seed
        self._opened = self._lines = self._order = None
        self.place = SentencePosition(0, 0, 0)
        """The next sentence is the first one from here on; can be set."""

    def draw(self):
        """Returns the next sentence's `SentencePosition` and its words.

        Raises:
            FileNotFoundError: If the next shard no longer exists.
            ValueError: If no shard has a sentence, or one cannot be read.
        """
        # In this pass and the next, all shards but one may be empty.
        for _ in range(2 * len(self._paths)):
            place = self.place
            self._open(place)
            if place.sentence < len(self._lines):
                self.place = place._replace(sentence=place.sentence + 1)
                return place, self.read(place)
            passes, shard = divmod(place.shard + 1, len(self._paths))
            self.place = SentencePosition(place.corpus_pass + passes, shard, 0)
        raise ValueError(
            "A corpus must have at least one sentence. Received: empty files "
            f"{self._paths}"
        )

    def read(self, place):
        """Returns the words of the sentence at a place.

        Raises:
            FileNotFoundError, ValueError: As for `draw`.
        """
        self._open(place)
        return self._lines[self._order[place.sentence]]

    def _open(self, place):
        """Opens the shard of a place, unless it is already open."""
        if self._opened == place[:2]:
            return
        shards = self._ordered(len(self._paths), place.corpus_pass, 0)
        number = shards[place.shard]
        self._lines = ShardLines(self._paths[number])
        self._order = self._ordered(
            len(self._lines), place.corpus_pass, number + 1
        )
        self._opened = place[:2]

    def _ordered(self, size, corpus_pass, what):
        """Returns an order of the shards (`what` 0) or a shard's sentences."""
        entropy = (self._key, corpus_pass, what, self._seed)
        bits = np.random.Philox(np.random.SeedSequence(entropy))
        # Unlike `Generator.permutation`, raw draws are the same in all versions
        # of NumPy.
        return np.argsort(bits.random_raw(size), kind="stable")


def stream_pairs(
    sentence: list[bytes], direction: str
) -> list[tuple[bytes, bytes]]:
    """Returns the inputs of a sentence, each with its target.

    In the forward direction, the begin mark is an input and the end mark is a
    target. In the backward direction it is the other way round, and the words
    are reversed. So the last mark in reading order is never an input.

    Args:
        sentence: List of words, each bytes.
        direction: `"forward"` or `"backward"`.

    Returns:
        A list of pairs, longer by one than the sentence.

    Example:

    >>> stream_pairs([b"a", b"b"], "backward")
    [(b'</S>', b'b'), (b'b', b'a'), (b'a', b'<S>')]
    """
    words = [BEGIN_SENTENCE, *sentence, END_SENTENCE]
    if direction == "backward":
        words.reverse()
    return list(itertools.pairwise(words))


@dataclasses.dataclass
class _Row:
    """The sentence that a row of the windows is reading."""

    place: SentencePosition | None = None
    pairs: Sequence[tuple[bytes, bytes]] = ()
    offset: int = 0

    @property
    def is_read(self):
        return self.offset == len(self.pairs)


class TokenStream:
    """An endless stream of windows for one direction.

    As in bilm-tf, each row of a window continues where it stopped in the window
    before. When its sentence ends, it draws the next one from a stream that all
    rows share. A row is always full: its sentences follow each other without
    padding.

    Args:
        paths: The corpus, as for `find_shards`.
        direction: `"forward"` or `"backward"`. Their orders are independent.
        rows: Integer, the number of rows of a window, that is, the batch size.
        steps: Integer, the number of words in a row.
        seed: Integer, the seed of the orders.

    Example:

    >>> with open("shard.txt", "w") as file:
    ...     _ = file.write("a b\\n")
    >>> stream = TokenStream("shard.txt", "forward", 1, 4)
    >>> inputs, targets = stream.next_window()
    >>> inputs.tolist(), targets.tolist()
    ([[b'<S>', b'a', b'b', b'<S>']], [[b'a', b'b', b'</S>', b'a']])
    """

    def __init__(self, paths, direction, rows, steps, seed=0):
        self.direction = direction
        self.steps = steps
        self._sentences = SentenceStream(
            find_shards(paths), DIRECTIONS.index(direction), seed
        )
        self._rows = [_Row() for _ in range(rows)]

    def next_window(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns the inputs and the targets of the next window.

        Returns:
            A tuple of two arrays `(rows, steps)` of bytes objects.

        Raises:
            FileNotFoundError: If a shard no longer exists.
            ValueError: If a shard cannot be read, or the corpus is empty.
        """
        pairs: list[tuple[bytes, bytes]] = []
        for i, row in enumerate(self._rows):
            missing = self.steps
            while missing:
                if row.is_read:
                    place, words = self._sentences.draw()
                    row = _Row(place, stream_pairs(words, self.direction))
                taken = row.pairs[row.offset : row.offset + missing]
                pairs += taken
                row.offset += len(taken)
                missing -= len(taken)
            self._rows[i] = row
        shape = (len(self._rows), self.steps, 2)
        window = np.array(pairs, dtype=object).reshape(shape)
        return window[..., 0], window[..., 1]

    @property
    def position(self) -> list:
        """The position after the last window, for `restore`.

        A list that JSON can represent: the place of the next sentence; then for
        each row the place of its sentence and how much of it has been read, or
        `None` if all of it has.
        """
        rows = [
            None if row.is_read else [*row.place, row.offset]
            for row in self._rows
        ]
        return [list(self._sentences.place), *rows]

    def restore(self, position: list) -> None:
        """Continues from a position, with the windows that followed it.

        This reads only the shards of the sentences in the rows.

        Args:
            position: The `position` of a stream with the same arguments, over
                the same corpus.

        Raises:
            FileNotFoundError: If one of those shards no longer exists.
            ValueError: If one cannot be read.
        """
        place, *rows = position
        self._rows = [_Row() for _ in rows]
        begun = [i for i, row in enumerate(rows) if row is not None]
        # In the order of the corpus, so that each shard is opened once.
        for i in sorted(begun, key=rows.__getitem__):
            where, offset = SentencePosition(*rows[i][:-1]), rows[i][-1]
            pairs = stream_pairs(self._sentences.read(where), self.direction)
            self._rows[i] = _Row(where, pairs, offset)
        self._sentences.place = SentencePosition(*place)
