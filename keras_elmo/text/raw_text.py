"""Text as people write it: its sentences and words, by the rules of spaCy."""

import functools
import itertools
import pkgutil

from keras_elmo.checks import argument_name
from keras_elmo.checks import needs_packages

# Bytes of a line.
LONGEST_LINE = 1 << 26


def tokenize(text: str, language: str = "en") -> list[list[str]]:
    """Divides text, as people write it, into sentences and words.

    It applies the rules of the package spaCy (`pip install spacy`), which needs
    no model for them. A sentence ends at punctuation such as `"."`, and at the
    end of a line. The commands `keras-elmo embed` and `keras-elmo tag` do the
    same with `--raw`.

    Args:
        text: String, of any number of lines.
        language: String, the code of the language whose rules are applied, such
            as `"de"`; `"xx"` has rules for many languages. By default, English.

    Returns:
        A list of sentences, each a list of words, as `Tagger.predict` and
        `ElmoEmbedder` take them. A sentence has at least one word.

    Raises:
        ValueError: If `text` is not a string, or spaCy does not know the
            language.
        ImportError: If spaCy is not installed, or a package that it needs for
            this language.

    Example:

    >>> from keras_elmo.text import tokenize
    >>> tokenize("They can't fish. Can you?")
    [['They', 'ca', "n't", 'fish', '.'], ['Can', 'you', '?']]
    """
    if not isinstance(text, str):
        raise ValueError(f"`text` must be a string. Received: {text!r}")
    (sentences,) = raw_sentences([text], language)
    return [[word for _, word in words] for words in sentences]


def raw_sentences(texts, language):
    """Yields a list of sentences for each text.

    Args:
        texts: Iterable of strings, of any number of lines.
        language: As for `tokenize`.

    Returns:
        An iterator of lists of sentences, each a list of `(start, word)`, where
        `start` is the position of the word in the text, in characters.
    """
    documents = _pipeline(language).pipe(_lines(texts), as_tuples=True)
    for _, lines in itertools.groupby(documents, lambda pair: pair[1][0]):
        sentences = (
            [(start + x.idx, x.text) for x in sentence if not x.is_space]
            for document, (_, start) in lines
            for sentence in document.sents
        )
        yield [*filter(None, sentences)]


def _lines(texts):
    """Yields `(line, (index of its text, position in it))`."""
    for i, text in enumerate(texts):
        start = 0
        for line in text.split("\n"):
            yield line, (i, start)
            start += len(line) + 1


@functools.cache
def _pipeline(language):
    with needs_packages("Dividing raw text into words", "spacy"):
        import spacy
        import spacy.lang
    known = {
        x.name for x in pkgutil.iter_modules(spacy.lang.__path__) if x.ispkg
    }
    if language not in known:
        raise ValueError(
            f"{argument_name('language')} must be one of {sorted(known)}. "
            f"Received: {language!r}"
        )
    pipeline = spacy.blank(language)
    pipeline.max_length = LONGEST_LINE
    pipeline.add_pipe("sentencizer")
    return pipeline
