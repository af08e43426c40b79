"""Streams of sentences: a corpus in some order, pass after pass."""

from typing import NamedTuple

import numpy as np

from keras_elmo.pretraining.shards import ShardLines

UNOPENED = -1


class Place(NamedTuple):
    """Where a sentence stands in the passes over a corpus, all from 0."""

    corpus_pass: int
    shard: int
    """Its shard's place in the order of the pass."""
    sentence: int
    """Its place in the order of the shard."""
    size: int
    """Of the shard's text, in bytes; `UNOPENED` before that is known."""


class SentenceStream:
    """Draws the sentences of a corpus, pass after pass without an end.

    One shard is open at a time.

    Args:
        paths: List of the shards' paths.
        key: Non-negative integer; streams of unlike keys have unlike orders.
        seed: Non-negative integer, of the orders.
        shuffle: Boolean. If true, each pass has an order of the shards, and
            each shard in it an order of its sentences, that depends on `seed`,
            `key` and the number of the pass. If false, all stand as in
            `paths` and the files.
    """

    def __init__(self, paths, key, seed, shuffle):
        self._paths = paths
        self._key = key
        self._seed = seed
        self._shuffle = shuffle
        self._lines = self._order = None  # Of the shard that is open.
        self.place = Place(0, 0, 0, UNOPENED)
        """Of the sentence to be drawn next."""

    def draw(self):
        """Returns the next sentence's `Place` and its words.

        Raises:
            FileNotFoundError: If the next shard is no longer there.
            ValueError: If no shard holds a sentence, or one cannot be read.
        """
        if self._lines is None:
            self._find_sentence()
        place = self.place
        words = self._lines[self._order[place.sentence]]
        if place.sentence + 1 < len(self._lines):
            self.place = place._replace(sentence=place.sentence + 1)
        else:
            self._leave_shard()
        return place, words

    def move_to(self, place):
        """Draws from `place` on.

        Raises:
            FileNotFoundError: If its shard is no longer there.
            ValueError: If its shard is not what it was.
        """
        self._lines = self._order = None
        if place.size != UNOPENED:
            self._lines, self._order = self._open(place)
        self.place = place

    def read(self, places):
        """Returns the words of sentences: a dictionary from their places.

        Raises:
            FileNotFoundError, ValueError: As `move_to`.
        """
        words = {}
        opened = None
        for place in sorted(set(places)):
            if opened != (place.corpus_pass, place.shard):
                lines, order = self._open(place)
                opened = (place.corpus_pass, place.shard)
            words[place] = lines[order[place.sentence]]
        return words

    def _find_sentence(self):
        # Of a pass and the next, all but one shard each may be empty.
        for _ in range(2 * len(self._paths)):
            self._lines, self._order = self._open(self.place)
            if len(self._lines):
                self.place = self.place._replace(size=self._lines.size)
                return
            self._leave_shard()
        raise ValueError(
            "A corpus must hold at least one sentence. Received "
            f"{len(self._paths)} empty file(s), the first '{self._paths[0]}'"
        )

    def _leave_shard(self):
        self._lines = self._order = None
        corpus_pass, shard = self.place.corpus_pass, self.place.shard + 1
        if shard == len(self._paths):
            corpus_pass, shard = corpus_pass + 1, 0
        self.place = Place(corpus_pass, shard, 0, UNOPENED)

    def _open(self, place):
        """Returns the shard of `place` and the order of its sentences."""
        number = self._ordered(len(self._paths), place.corpus_pass, 0)[
            place.shard
        ]
        lines = ShardLines(self._paths[number])
        same = place.size == lines.size and place.sentence < len(lines)
        if place.size != UNOPENED and not same:
            raise ValueError(
                f"'{lines.path}' must be what it was when the position was "
                f"taken: {place.size} bytes of text, with a sentence "
                f"{place.sentence}. Received: {lines.size} bytes, "
                f"{len(lines)} sentences"
            )
        order = self._ordered(len(lines), place.corpus_pass, number + 1)
        return lines, order

    def _ordered(self, size, corpus_pass, what):
        """An order of the shards (`what` 0) or of a shard's sentences."""
        if not self._shuffle:
            return range(size)
        entropy = (self._key, corpus_pass, what, self._seed)
        bits = np.random.Philox(np.random.SeedSequence(entropy))
        # Unlike `Generator.permutation`, raw draws stay the same in all
        # versions of NumPy.
        return np.argsort(bits.random_raw(size), kind="stable")
