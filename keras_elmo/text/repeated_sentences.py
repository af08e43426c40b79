"""Sentences that measure what a model learned, but are trained on as well."""

import warnings

# Shorter sentences, such as "What do you think ?", are in many texts.
_SHORT = 5


def warn_of_repeated(sentences, others, what, where, share=0.0):
    """Warns if sentences that are scored are among others, too.

    Args:
        sentences: Iterable of sentences, each a list of words. Those of more
            than five words count.
        others: Iterable of such sentences, which the model learns from.
        what: String, what the message calls the sentences.
        where: String, what it calls the others.
        share: Float, the share of the sentences above which it warns.
    """
    others = set(map(tuple, others))
    found = [tuple(x) in others for x in sentences if len(x) > _SHORT]
    number = sum(found)
    if number > share * len(found):
        warnings.warn(
            f"{number:,} of {len(found):,} {what} are in {where}, too "
            "(only sentences of more than five words count). So they do not "
            "show how good the result is on other text.",
            stacklevel=3,
        )


def are_all_in(sentences, others):
    """Whether each sentence, of any length, is among others."""
    return set(map(tuple, others)).issuperset(map(tuple, sentences))
