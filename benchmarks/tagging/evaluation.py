"""Scores of predicted tags: entity F1, counted as in conlleval; accuracy."""

import collections

import numpy as np


def entities(tags):
    """Finds the spans that the tags of a sentence mark, as conlleval does.

    Tags that violate their scheme mark spans too: `I-PER` after `O` begins a
    span, and `I-LOC` after `B-PER` ends one and begins another.

    Args:
        tags: List of strings in IOB1, BIO or BIOES.

    Returns:
        A list of `(type, start, end)`, where `end` is exclusive.

    Example:

    >>> entities(["B-PER", "I-PER", "O", "I-LOC"])
    [('PER', 0, 2), ('LOC', 3, 4)]
    """
    found, start = [], None
    before, kind_before = "O", ""
    for i, tag in enumerate([*tags, "O"]):
        letter, _, kind = tag.partition("-")
        if start is not None and (
            before in "ES" or letter in "OBS" or kind != kind_before
        ):
            found.append((kind_before, start, i))
            start = None
        if letter != "O" and start is None:
            start = i
        before, kind_before = letter, kind
    return found


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
        truth, guess = set(entities(truth)), set(entities(guess))
        for place, spans in enumerate((truth, guess, truth & guess)):
            for kind, _, _ in spans:
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
