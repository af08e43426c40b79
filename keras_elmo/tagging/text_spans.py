"""Entities and words with their places in a text."""

from typing import NamedTuple

from keras_elmo.crf.crf_decoder import CRFDecoder
from keras_elmo.text.raw_text import raw_sentences


class TextSpan(NamedTuple):
    """An entity of a text or, if the labels mark no entities, a word."""

    start_char: int
    """Its first character, from 0, counted in Unicode code points."""
    end_char: int
    """The character after its last one."""
    type: str
    """The type of the entity, or the label of the word."""
    probability: float | None
    """That these words, and no others, are an entity of this type; or that the
    word has this label. `None` if the model has no CRF and finds entities."""
    text: str
    """`text[start_char:end_char]` of the whole text."""


def tag_sentences(tagger, sentences, threshold=None, **options):
    """Returns the tags of sentences, and the entities that they mark.

    Args:
        tagger: A `Tagger`.
        sentences: List of lists of words.
        threshold: As for `Tagger.predict_entities`.
        **options: `batch_size` and `verbose`, as for `Tagger.predict`.

    Returns:
        A list of lists of tags, and a list of lists of tuples `(start, end,
        type, probability)`. The probability is `None` if the tagger has no CRF;
        the second list is `None` if its labels mark no entities.
    """
    has_crf = any(isinstance(x, CRFDecoder) for x in tagger.model.layers)
    if threshold is not None or (tagger.scheme and has_crf):
        spans, tags = tagger.predict_entities(
            sentences, threshold=threshold, return_tags=True, **options
        )
        return tags, spans
    tags = tagger.predict(sentences, **options)
    if tagger.scheme is None:
        return tags, None
    return tags, [[(*x, None) for x in tagger.entities(row)] for row in tags]


def spans_of_texts(tagger, texts, language, threshold, **options):
    """Returns a list of `TextSpan`s for each text.

    Args:
        tagger: A `Tagger`.
        texts: List of strings.
        language: As for `tokenize`.
        threshold: As for `Tagger.predict_entities`.
        **options: As for `tag_sentences`.
    """
    found = [*raw_sentences(texts, language)]
    sentences = [sentence for parts in found for sentence in parts]
    words = [sentence.tokens for sentence in sentences]
    if tagger.scheme is None and threshold is None:
        tags, shares = tagger.predict(words, return_marginals=True, **options)
        rows = [
            [
                (j, j + 1, tag, float(share))
                for j, (tag, share) in enumerate(row)
            ]
            for row in map(zip, tags, (x.max(axis=-1) for x in shares))
        ]
    else:
        _, rows = tag_sentences(tagger, words, threshold, **options)
    spans = map(_spans, sentences, rows)
    return [[x for _ in parts for x in next(spans)] for parts in found]


def _spans(sentence, rows):
    """Returns the `TextSpan`s of a `Sentence`."""
    spans, places = [], sentence.char_spans()
    for start, end, entity_type, probability in rows:
        i, j = places[start][0], places[end - 1][1]
        text = sentence.text[i:j]
        spans.append(TextSpan(i, j, entity_type, probability, text))
    return spans
