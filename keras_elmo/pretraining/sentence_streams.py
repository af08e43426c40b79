"""Streams of sentences: a corpus in some order, pass after pass."""

from typing import NamedTuple

import numpy as np

from keras_elmo.pretraining.corpus_shards import ShardLines


class Place(NamedTuple):
    """Where a sentence stands in the passes over a corpus, all from 0."""

    corpus_pass: int
    shard: int
    """Its shard's place in the order of the pass."""
    sentence: int
    """Its place in the order of the shard."""


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
        self._opened = self._lines = self._order = None
        self.place = Place(0, 0, 0)
        """The next sentence is the first one from here; to be set, too."""

    def draw(self):
        """Returns the next sentence's `Place` and its words.

        Raises:
            FileNotFoundError: If the next shard is no longer there.
            ValueError: If no shard holds a sentence, or one cannot be read.
        """
        # Of a pass and the next, all but one shard each may be empty.
        for _ in range(2 * len(self._paths)):
            place = self.place
            self._open(place)
            if place.sentence < len(self._lines):
                self.place = place._replace(sentence=place.sentence + 1)
                return place, self.read(place)
            self.place = self._next_shard(place)
        raise ValueError(
            "A corpus must hold at least one sentence. Received "
            f"{len(self._paths)} empty file(s), the first '{self._paths[0]}'"
        )

    def read(self, place):
        """Returns the words of the sentence at a place.

        Raises:
            FileNotFoundError, ValueError: As `draw`.
        """
        self._open(place)
        return self._lines[self._order[place.sentence]]

    def _next_shard(self, place):
        if place.shard + 1 < len(self._paths):
            return Place(place.corpus_pass, place.shard + 1, 0)
        return Place(place.corpus_pass + 1, 0, 0)

    def _open(self, place):
        """Opens the shard of a place, unless it is open."""
        if self._opened == place[:2]:
            return
        shards = self._ordered(len(self._paths), place.corpus_pass, 0)
        number = shards[place.shard]
        self._opened = None
        self._lines = ShardLines(self._paths[number])
        self._order = self._ordered(
            len(self._lines), place.corpus_pass, number + 1
        )
        self._opened = place[:2]

    def _ordered(self, size, corpus_pass, what):
        """An order of the shards (`what` 0) or of a shard's sentences."""
        if not self._shuffle:
            return range(size)
        entropy = (self._key, corpus_pass, what, self._seed)
        bits = np.random.Philox(np.random.SeedSequence(entropy))
        # Unlike `Generator.permutation`, raw draws stay the same in all
        # versions of NumPy.
        return np.argsort(bits.random_raw(size), kind="stable")
