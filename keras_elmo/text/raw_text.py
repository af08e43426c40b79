"""Text as people write it: its sentences and words, by the rules of spaCy."""

import functools
import itertools
import pkgutil
import re
import warnings

from keras_elmo.checks import argument_name
from keras_elmo.checks import needs_packages
from keras_elmo.text.sentences import Sentence
from keras_elmo.text.text_files import LONGEST_LINE

# Words of scripts that are written without spaces, but not divided: Thai, Kana
# and Han.
_UNDIVIDED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]{11}")


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
    return [sentence.tokens for sentence in sentences]


def read_raw(lines, language):
    """Yields the `Sentence`s of lines of text as people write it.

    The text of each has the white space after it and, if it is the first one of
    its line, the white space before it. A line without words is one without
    tokens.
    """
    lines, same = itertools.tee(lines)
    bare = (line.removesuffix("\n") for line in same)
    for line, sentences in zip(lines, raw_sentences(bare, language)):
        begins = [0, *(x.starts[0] for x in sentences[1:]), len(line)]
        for (i, j), found in itertools.zip_longest(
            itertools.pairwise(begins), sentences, fillvalue=Sentence("", [])
        ):
            starts = [x - i for x in found.starts]
            yield Sentence(line[i:j], found.tokens, starts)


def raw_sentences(texts, language):
    """Yields a list of `Sentence`s for each text, which is their `text`.

    Args:
        texts: Iterable of strings, of any number of lines.
        language: As for `tokenize`.
    """
    documents = _pipeline(language).pipe(_lines(texts), as_tuples=True)
    is_told = False
    for _, lines in itertools.groupby(documents, lambda pair: pair[1][0]):
        found = []
        for document, (_, text, start) in lines:
            for sentence in document.sents:
                if words := [x for x in sentence if not x.is_space]:
                    tokens = [x.text for x in words]
                    starts = [start + x.idx for x in words]
                    found.append(Sentence(text, tokens, starts))
        words = itertools.chain.from_iterable(x.tokens for x in found)
        if not is_told and (word := next(filter(_is_undivided, words), None)):
            is_told = True
            warnings.warn(
                f"The rules of {argument_name('language', language)} do not "
                f"divide the words of this text, such as {word[:20]!r}. Choose "
                "its language, such as zh, ja or th.",
                stacklevel=2,
            )
        yield found


def _is_undivided(word):
    return len(word) > 10 and _UNDIVIDED.search(word)


def _lines(texts):
    """Yields `(line, (index of its text, the text, position in it))`."""
    for i, text in enumerate(texts):
        start = 0
        for line in text.split("\n"):
            yield line, (i, text, start)
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
