"""Sentences that are in a text, or in two texts, more than once."""

import textwrap
import warnings

# Shorter sentences, such as "What do you think ?", are in many texts.
_SHORT = 5
# Characters of one that a warning shows.
_SHOWN = 60


def warn_of_repeated(sentences, others, what, where, share=0.0):
    """Warns if sentences that are scored are among others, too.

    Args:
        sentences: Iterable of sentences, each a list of words, strings or
            bytes in UTF-8. Those of more than five words count.
        others: Iterable of such sentences, which the model learns from.
        what: String, what the message calls the sentences.
        where: String, what it calls the others.
        share: Float, the share of the sentences above which it warns.
    """
    others = set(map(tuple, others))
    checked = [tuple(x) for x in sentences if len(x) > _SHORT]
    found = [x for x in checked if x in others]
    if len(found) > share * len(checked):
        words = (x if isinstance(x, str) else x.decode() for x in found[0])
        first = textwrap.shorten(" ".join(words), _SHOWN)
        warnings.warn(
            f"{len(found):,} of {len(checked):,} {what} are in {where}, too, "
            f"such as {first!r} (only sentences of more than five words count)."
            " So they do not show how good the result is on other text.",
            stacklevel=3,
        )


def are_all_in(sentences, others):
    """Whether each sentence, of any length, is among others."""
    return set(map(tuple, others)).issuperset(map(tuple, sentences))


def labelled_differently(sentences, tags):
    """Yields sentences of which others are equal, but have different labels.

    Args:
        sentences: List of sentences, each a list of words.
        tags: List of lists of strings, a label for each word.

    Yields:
        The indices of the equal sentences, two or more; and the first word
        whose label differs, and the word after the last one, from 0.
    """
    groups = {}
    for i, words in enumerate(sentences):
        groups.setdefault(tuple(words), []).append(i)
    for indices in groups.values():
        columns = enumerate(zip(*(tags[i] for i in indices)))
        places = [k for k, labels in columns if len({*labels}) > 1]
        if places:
            yield indices, places[0], places[-1] + 1
