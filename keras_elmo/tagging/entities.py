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

# The words of the entities that are looked for at first; then four times as
# many, as long as a longer one may reach the threshold.
_LENGTH = 8


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
        allowed = allowed_tags(layer.tag_names, layer.scheme)
        decoder = CRFDecoder(
            return_entities=True, tag_names=tag_names, scheme=layer.scheme
        )
        best = keras.Model(ids, decoder(*inputs))
        scores = keras.Model(ids, *inputs)

        def find_spans(ids, max_length):
            x = scores(ids)
            x = x if allowed is None else linear_chain.constrain(x, *allowed)
            return linear_chain.span_probabilities(
                x, self._entity_tags, max_length
            )

        self._best = Compiled(best, best, [(32, 8)])
        self._spans = Compiled(find_spans, scores, [(32, 8)])

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
        size = _LENGTH
        while True:
            spans = call_with_arrays(self._spans, ids, max_length=size)
            if size >= max(lengths) or np.all(spans[:, :, -1] < threshold):
                break
            size *= 4
        for length, row in zip(lengths, spans[:, :, :-1]):
            found = self._choose(row[:length], threshold)
            yield mark_entities(found, length, self._scheme), found

    def _find_best(self, ids, lengths):
        results = call_with_arrays(self._best, ids)
        for length, ids, probabilities, _ in zip(lengths, *results):
            tags = [self._tag_names[i] for i in ids[:length]]
            found = [
                Entity(*x, float(probabilities[x[0]])) for x in entities(tags)
            ]
            yield tags, found

    def _choose(self, spans, threshold):
        """Returns the `Entity`s of a sentence that reach a threshold.

        Args:
            spans: Array `(words, max_length, num_types)` of probabilities.
            threshold: Number.
        """
        indices = np.argwhere(spans >= threshold)
        order = np.argsort(-spans[*indices.T], kind="stable")
        taken = np.zeros(len(spans), bool)
        found = []
        for start, size, i in indices[order].tolist():
            end = start + size + 1
            if not taken[start:end].any():
                taken[start:end] = True
                name = self._entity_tags.types[i]
                share = float(spans[start, size, i])
                found.append(Entity(start, end, name, share))
        return sorted(found)
