"""Scores of predicted tags."""

import collections
import functools

import numpy as np

from keras_elmo.crf.tags import entities
from keras_elmo.crf.tags import to_scheme
from keras_elmo.text.word_lists import sentence_words
from keras_elmo.text.word_lists import word_lists


def tagged_pairs(sentences, tags, scheme):
    """Returns pairs of a sentence and its tags, without empty sentences.

    Args:
        sentences: Iterable of sentences, each a list of words.
        tags: Iterable of lists of strings.
        scheme: As `find_scheme` returns it; the tags are converted to it.

    Raises:
        ValueError: If there is not one tag for each word.
    """
    sentences, tags = word_lists(sentences), list(map(list, tags))
    if len(sentences) != len(tags):
        raise ValueError(
            "`tags` must have a list of strings for each sentence. Received: "
            f"{len(tags):,} lists for {len(sentences):,} sentences"
        )
    pairs = list(zip(sentences, tags))
    for i, (sentence, row) in enumerate(pairs):
        number = len(sentence_words(sentence, i))
        if number != len(row) or not all(isinstance(x, str) for x in row):
            raise ValueError(
                "`tags` must have a list of strings for each sentence, with "
                f"a tag for each word. Received for sentence {i}, of {number} "
                f"words: {row}"
            )
    convert = functools.partial(to_scheme, scheme=scheme) if scheme else list
    return [(words, convert(row)) for words, row in pairs if row]


def score_tags(tags, predicted, scheme=None):
    """Returns the accuracy, and precision, recall and F1 of each type.

    With a scheme, entities are scored, as by conlleval: one is right if its
    start, its end and its type are. Without a scheme, a type is a label, and
    each word is scored.

    Args:
        tags: List of sentences, each a list of the right labels.
        predicted: The predicted labels, in the same form.
        scheme: As `find_scheme` returns it.

    Returns:
        A dictionary: `"accuracy"` of the words' labels, from 0 to 1; with a
        scheme `"precision"`, `"recall"`, `"f1"` and `"count"` of all entities;
        and `"types"`, with such a dictionary of four for each type.
    """
    # For each type, those in `tags`, those predicted, and those in both.
    counts = collections.defaultdict(lambda: np.zeros(3, "int64"))
    spans_of = entities if scheme else enumerate
    right = []
    for true, guess in zip(tags, predicted, strict=True):
        right += [a == b for a, b in zip(true, guess, strict=True)]
        wanted, found = ({*spans_of(x)} for x in (true, guess))
        for i, spans in enumerate((wanted, found, wanted & found)):
            for *_, entity_type in spans:
                counts[entity_type][i] += 1
    return {
        "accuracy": sum(right) / max(1, len(right)),
        **(_scores(sum(counts.values(), np.zeros(3))) if scheme else {}),
        "types": {name: _scores(counts[name]) for name in sorted(counts)},
    }


def _scores(counts):
    wanted, found, right = map(int, counts)
    return {
        "precision": right / max(1, found),
        "recall": right / max(1, wanted),
        "f1": 2 * right / max(1, wanted + found),
        "count": wanted,
    }
