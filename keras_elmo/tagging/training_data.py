"""The sentences that a tagger is trained on, and those that score it."""

import collections
import itertools
import warnings

import numpy as np

from keras_elmo.checks import argument_name
from keras_elmo.crf.tags import check_scheme
from keras_elmo.tagging.scores import tagged_pairs
from keras_elmo.text.repeated_sentences import warn_of_repeated

# The memory of a training step, in bytes for each word of a batch and each pair
# of labels: measured with 300 and 600 labels.
_BYTES_PER_PAIR = 56


def training_data(train, dev, batch_size, max_labels):
    """Returns what a tagger is trained on, checked.

    Args:
        train: The sentences, and their tags.
        dev: The same for validation, or `None` to hold out a tenth of `train`.
        batch_size: As for `Tagger.train`, like `max_labels`.

    Returns:
        A tuple: two lists of pairs, the words of a sentence and their tags, to
        train and to validate on; the list of the labels, `"O"` first; and
        their scheme.

    Raises:
        ValueError: If no tagger can be trained on them.
    """
    pairs, labels, scheme = labelled_pairs(*train, batch_size, max_labels)
    if dev is None:
        pairs, held = hold_out(pairs)
    elif isinstance(dev, (tuple, list)) and len(dev) == 2:
        held = tagged_pairs(*dev, scheme)
    else:
        raise ValueError(
            "`validation_data` must be a tuple of two: sentences, and their "
            f"tags. Received: {type(dev).__name__}"
        )
    if not pairs or not held:
        raise ValueError(
            "A tagger needs sentences to train on, and others to validate on. "
            f"Received, without empty ones: {len(pairs)} and {len(held)}. If "
            "they are from a file, is there an empty line after each sentence?"
        )
    warn_of_repeated(
        *([words for words, _ in part] for part in (held, pairs)),
        "sentences to validate on",
        "those to train on",
        share=0.1 if dev is None else 0.0,
    )
    unknown = sorted({x for _, row in held for x in row}.difference(labels))
    if unknown:
        warnings.warn(
            "The sentences to validate on have labels that no sentence to "
            f"train on has, so that they cannot be predicted: {unknown[:20]}",
            stacklevel=4,
        )
    return pairs, held, labels, scheme


def labelled_pairs(sentences, tags, batch_size, max_labels):
    """Returns labelled sentences, checked.

    Args:
        sentences: As for `Tagger.train`, like all that follow.

    Returns:
        A tuple: a list of pairs, the words of a sentence and their tags,
        without empty ones; the list of the labels, `"O"` first; and their
        scheme.

    Raises:
        ValueError: If no tagger can be trained on them.
    """
    tags = list(map(list, tags))
    scheme = check_scheme(map(str, itertools.chain.from_iterable(tags)))
    pairs = tagged_pairs(sentences, tags, scheme)
    known = {label for _, row in pairs for label in row}
    known |= {"O"} if scheme else set()  # Else, BIOES cannot tag each length.
    labels = sorted(known, key=lambda label: (label != "O", label))
    if len(labels) < 2:
        raise ValueError(f"Expected two labels or more. Received: {labels}")
    if len(labels) > max_labels:
        longest = max(len(row) for _, row in pairs)
        size = _BYTES_PER_PAIR * batch_size * longest * len(labels) ** 2
        raise ValueError(
            f"Expected at most {max_labels:,} labels. To allow more, pass "
            f"{argument_name('max_labels', len(labels))}; training then takes "
            f"about {size / 1e9:,.1f} GB of memory. If these are no labels, "
            f"choose another column. Received: {len(labels):,} labels, such as "
            f"{labels[:5]}"
        )
    return pairs, labels, scheme


def hold_out(pairs):
    """Holds out a tenth of tagged sentences, chosen at random.

    If two sentences or more have entities (or any labels but `"O"`), some that
    are held out do. Each label that they have is in the other sentences as
    well, if that is possible; if not, there is a warning.

    Args:
        pairs: List of pairs: the words of a sentence, and their tags. It is
            shuffled.

    Returns:
        A tuple of two such lists: the rest, and what is held out.
    """
    np.random.shuffle(pairs)
    # For each label, the number of sentences that have it and are left.
    left = collections.Counter(x for _, tags in pairs for x in {*tags})
    marked = [i for i, (_, tags) in enumerate(pairs) if {*tags} != {"O"}]
    chosen: set[int] = set()

    def choose(candidates, number, is_forced=False):
        for i in candidates:
            labels = {*pairs[i][1]}
            is_free = is_forced or all(left[label] > 1 for label in labels)
            if len(chosen) < number and i not in chosen and is_free:
                chosen.add(i)
                left.subtract(labels)

    choose(marked, 1)
    if len(marked) > 1:
        choose(marked, 1, is_forced=True)
    choose(range(len(pairs)), max(1, len(pairs) // 10))
    if len(pairs) > 1:
        choose({*range(len(pairs))} - {*marked}, 1, is_forced=True)
    held = [pairs[i] for i in sorted(chosen)]
    rest = [pair for i, pair in enumerate(pairs) if i not in chosen]
    lost = {x for _, y in held for x in y} - {x for _, y in rest for x in y}
    if lost:
        warnings.warn(
            f"The labels {sorted(lost)} occur only in sentences that are held "
            "out of the training, because too few have them. They cannot be "
            "learned.",
            stacklevel=5,
        )
    return rest, held
