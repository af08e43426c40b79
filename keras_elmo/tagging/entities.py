"""Entities with their positions and probabilities, from the scores of a CRF."""

from typing import NamedTuple

import numpy as np

from keras_elmo.checks import argument_name
from keras_elmo.checks import is_number
from keras_elmo.crf import linear_chain
from keras_elmo.crf.crf_decoder import CRFDecoder
from keras_elmo.crf.tags import allowed_tags
from keras_elmo.crf.tags import entities
from keras_elmo.crf.tags import entity_tags
from keras_elmo.crf.tags import mark_entities
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
    """Finds the entities of sentences.

    Args:
        model: The `SentenceModel`.
        tags: Symbolic tensor, its tags.
        tag_names: List of strings, the labels in order.
        scheme: Their scheme.

    Raises:
        ValueError: If the tags are not from a `CRFDecoder`, or mark no
            entities.
    """

    def __init__(self, model, tags, tag_names, scheme):
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

        def find_chances(scores):
            return linear_chain.continuations(
                linear_chain.constrain(scores, *allowed),
                self._entity_tags.continues,
            )

        self._model = model
        self._best = model.compile(decoder(*inputs))
        self._chances = model.compile(*inputs, find_chances)

    def find(self, sentences, threshold, **options):
        """Yields the index of each sentence, its `Entity`s, and their tags.

        Args:
            sentences: List of lists of words. Empty ones are left out.
            threshold: As for `Tagger.predict_entities`.
            **options: As for `SentenceModel.run`.
        """
        function = self._best if threshold is None else self._chances
        for batch, results in self._model.run(function, sentences, **options):
            lengths = [len(sentences[i]) for i in batch]
            if threshold is None:
                found = self._best_spans(*results, lengths)
            else:
                found = self._find_spans(*results, threshold)
            for i, length, spans in zip(batch, lengths, found):
                yield i, spans, mark_entities(spans, length, self._scheme)

    def _best_spans(self, ids, probabilities, _, lengths):
        """Returns the `Entity`s of each row that the best tags mark."""
        found = []
        for length, row, shares in zip(lengths, ids, probabilities):
            spans = entities([self._tag_names[i] for i in row[:length]])
            found.append([Entity(*x, float(shares[x[0]])) for x in spans])
        return found

    def _find_spans(self, marginals, goes_on, threshold):
        """Returns the `Entity`s of each row that reach a threshold.

        Of those that begin with the same word, longer ones are looked for as
        long as the probability that the entity goes on reaches the threshold.
        """
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
