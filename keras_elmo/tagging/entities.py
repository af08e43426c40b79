"""Entities with their positions and probabilities, from the scores of a CRF."""

from typing import NamedTuple

import keras
import numpy as np

from keras_elmo.checks import argument_name
from keras_elmo.checks import is_number
from keras_elmo.crf import linear_chain
from keras_elmo.crf.crf_decoder import CRFDecoder
from keras_elmo.crf.tags import allowed_tags
from keras_elmo.crf.tags import entities
from keras_elmo.crf.tags import entity_tags
from keras_elmo.crf.tags import mark_entities
from keras_elmo.ops.compiled import Compiled
from keras_elmo.ops.compiled import call_with_arrays
from keras_elmo.ops.private_keras import call_of


def check_threshold(threshold):
    """Raises `ValueError` unless it is `None` or can be a probability."""
    is_right = is_number(threshold) and 0 < threshold <= 1
    if threshold is not None and not is_right:
        raise ValueError(
            f"{argument_name('threshold')} must be a number above 0 and up to "
            f"1. Received: {threshold!r}"
        )


class Entity(NamedTuple):
    """An entity of a sentence."""

    start: int
    """Its first word, from 0."""
    end: int
    """The word after its last one."""
    type: str
    probability: float
    """That these words, and no others, are an entity of this type; from 0 to
    1."""


class EntityModel:
    """Finds the entities of sentences, given the ids of their words.

    Args:
        ids: Symbolic tensor, the input of a model.
        tags: Symbolic tensor, its tags.
        tag_names: List of strings, the labels in order.
        scheme: Their scheme.

    Raises:
        ValueError: If the tags are not from a `CRFDecoder`, or mark no
            entities.
    """

    def __init__(self, ids, tags, tag_names, scheme):
        layer, _, inputs, _ = call_of(tags)
        if scheme is None:
            raise ValueError(
                "Only labels such as O, B-PER and I-PER mark entities, which "
                "have probabilities. "
                f"Received: a tagger with labels {tag_names[:9]}"
            )
        if not isinstance(layer, CRFDecoder):
            raise ValueError(
                "Entities have probabilities only if the model ends in a `CRF` "
                "and a `CRFDecoder`, as after `Tagger.train`. "
                f"Received: a layer of class {type(layer).__name__}"
            )
        self._tag_names, self._scheme = tag_names, scheme
        self._entity_tags = entity_tags(tag_names)
        decoder = CRFDecoder(return_entities=True, tag_names=tag_names)
        allowed = allowed_tags(tag_names, scheme)
        best = keras.Model(ids, decoder(*inputs))
        scores = keras.Model(ids, *inputs)

        def find_chances(ids):
            return linear_chain.continuations(
                linear_chain.constrain(scores(ids), *allowed),
                self._entity_tags.continues,
            )

        self._best = Compiled(best, best, [(32, 8)])
        self._chances = Compiled(find_chances, scores, [(32, 8)])

    def find(self, ids, lengths, threshold):
        """Yields the tags of each sentence, and the `Entity`s that they mark.

        Args:
            ids: The ids of a batch.
            lengths: List of the numbers of their words.
            threshold: As for `Tagger.predict_entities`.
        """
        if threshold is None:
            yield from self._find_best(ids, lengths)
            return
        for length, found in zip(lengths, self._find_spans(ids, threshold)):
            yield mark_entities(found, length, self._scheme), found

    def _find_best(self, ids, lengths):
        results = call_with_arrays(self._best, ids)
        for length, ids, probabilities, _ in zip(lengths, *results):
            tags = [self._tag_names[i] for i in ids[:length]]
            found = [
                Entity(*x, float(probabilities[x[0]])) for x in entities(tags)
            ]
            yield tags, found

    def _find_spans(self, ids, threshold):
        """Returns the `Entity`s of each row that reach a threshold.

        Of those that begin with the same word, longer ones are looked for as
        long as the probability that the entity goes on reaches the threshold.
        """
        marginals, goes_on = call_with_arrays(self._chances, ids)
        # None goes on after the last word.
        goes_on = np.pad(goes_on[:, 1:], [(0, 0), (0, 1), (0, 0), (0, 0)])
        shares = marginals * self._entity_tags.begins  # (batch, time, tags)
        rows, starts = np.nonzero((shares >= threshold).any(axis=2))
        shares, ends = shares[rows, starts], starts + 1
        spans = []
        while len(rows):
            after = goes_on[rows, ends - 1]  # (n, tags, tags)
            whole = shares * np.maximum(1 - after.sum(axis=2), 0)
            i, tags = np.nonzero(whole >= threshold)
            columns = -whole[i, tags], rows[i], starts[i], ends[i], tags
            spans += zip(*(x.tolist() for x in columns))
            shares = np.matmul(shares[:, None], after)[:, 0]
            kept = (shares >= threshold).any(axis=1)
            rows, starts, shares = rows[kept], starts[kept], shares[kept]
            ends = ends[kept] + 1
        taken = np.zeros(marginals.shape[:2], bool)
        found = [[] for _ in taken]
        for share, row, start, end, tag in sorted(spans):
            if not taken[row, start:end].any():
                taken[row, start:end] = True
                entity = Entity(
                    start, end, self._entity_tags.types[tag], -share
                )
                found[row].append(entity)
        return [*map(sorted, found)]
