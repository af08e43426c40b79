"""Streams of sentences: repeated passes over a corpus, in some order."""

from typing import NamedTuple

import numpy as np

from keras_elmo.pretraining.corpus_shards import ShardLines


class Place(NamedTuple):
    """The position of a sentence in the passes over a corpus, all from 0."""

    corpus_pass: int
    shard: int
    """Its shard's position in the order of the pass."""
    sentence: int
    """Its position in the order of the shard."""


class SentenceStream:
    """Draws the sentences of a corpus, in endless passes.

    One shard is open at a time.

    Args:
        paths: List of the shards' paths.
        key: Non-negative integer; streams with different keys have different
            orders.
        seed: Non-negative integer, seed of the orders.
        shuffle: Boolean. If true, each pass shuffles the shards, and the
            sentences of each shard, in an order that depends on `seed`, `key`
            and the number of the pass. If false, the order is that of `paths`
            and the files.
    """

    def __init__(self, paths, key, seed, shuffle):
        self._paths = paths
        self._key = key
        self._seed = seed
        self._shuffle = shuffle
        self._opened = self._lines = self._order = None
        self.place = Place(0, 0, 0)
        """The next sentence is the first one from here on; can be set."""

    def draw(self):
        """Returns the next sentence's `Place` and its words.

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
            self.place = self._next_shard(place)
        raise ValueError(
            "A corpus must have at least one sentence. Received: "
            f"{len(self._paths)} empty file(s), the first '{self._paths[0]}'"
        )

    def read(self, place):
        """Returns the words of the sentence at a place.

        Raises:
            FileNotFoundError, ValueError: As for `draw`.
        """
        self._open(place)
        return self._lines[self._order[place.sentence]]

    def _next_shard(self, place):
        if place.shard + 1 < len(self._paths):
            return Place(place.corpus_pass, place.shard + 1, 0)
        return Place(place.corpus_pass + 1, 0, 0)

    def _open(self, place):
        """Opens the shard of a place, unless it is already open."""
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
        """Returns an order of the shards (`what` 0) or a shard's sentences."""
        if not self._shuffle:
            return range(size)
        entropy = (self._key, corpus_pass, what, self._seed)
        bits = np.random.Philox(np.random.SeedSequence(entropy))
        # Unlike `Generator.permutation`, raw draws are the same in all versions
        # of NumPy.
        return np.argsort(bits.random_raw(size), kind="stable")
