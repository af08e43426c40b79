"""Scores of predicted tags: entity F1, counted as in conlleval; accuracy."""

import collections

import numpy as np

from keras_elmo import Tagger


def entity_scores(gold, predicted):
    """Returns precision, recall and F1 of entities, overall and by type.

    An entity is correct if its type, start and end are correct.

    Args:
        gold: List of sentences, each a list of tags.
        predicted: Predicted tags, in the same form and length.

    Returns:
        A dictionary of `"precision"`, `"recall"`, `"f1"` (0 to 1) and
        `"entities"`, the number in `gold`. `"types"` has such a dictionary for
        each type.
    """
    counts = collections.defaultdict(lambda: np.zeros(3, "int64"))
    for truth, guess in zip(gold, predicted, strict=True):
        truth, guess = set(Tagger.entities(truth)), set(Tagger.entities(guess))
        for place, spans in enumerate((truth, guess, truth & guess)):
            for _, _, kind in spans:
                counts[kind][place] += 1
    return {
        **_f1(*sum(counts.values(), np.zeros(3, "int64"))),
        "types": {kind: _f1(*counts[kind]) for kind in sorted(counts)},
    }


def _f1(gold, predicted, right):
    return {
        "precision": float(right / max(1, predicted)),
        "recall": float(right / max(1, gold)),
        "f1": float(2 * right / max(1, gold + predicted)),
        "entities": int(gold),
    }


def accuracy_scores(gold, predicted):
    """Returns the share of words with the correct tag, overall and by tag.

    Returns:
        A dictionary of `"accuracy"` (0 to 1) and `"words"`, their number.
        `"types"` has such a dictionary for each tag in `gold`.
    """
    counts = collections.defaultdict(lambda: [0, 0])
    for truth, guess in zip(gold, predicted, strict=True):
        for tag, other in zip(truth, guess, strict=True):
            counts[tag][0] += tag == other
            counts[tag][1] += 1

    def share(right, words):
        return {"accuracy": right / max(1, words), "words": words}

    total = [sum(column) for column in zip(*counts.values())] or [0, 0]
    types = {tag: share(*counts[tag]) for tag in sorted(counts)}
    return {**share(*total), "types": types}


def mean_and_deviation(scores):
    """Formats scores in percent as `mean ± sample standard deviation`."""
    return f"{100 * np.mean(scores):.2f} ± {100 * deviation(scores):.2f}"


def deviation(scores):
    """Returns the sample standard deviation, 0 for a single score."""
    return np.std(scores, ddof=1) if len(scores) > 1 else 0.0
