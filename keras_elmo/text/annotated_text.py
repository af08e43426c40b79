"""Text whose entities are spans of characters, as annotation tools write it."""

import bisect
import collections
import itertools
import json
import operator
import re
import warnings
from typing import NamedTuple

from keras_elmo.checks import argument_name
from keras_elmo.text.raw_text import raw_sentences
from keras_elmo.text.sentences import Sentence

# What tools call a text, and its spans. In Prodigy, there may be a `label` of
# the whole text beside `spans`.
_TEXT = "text", "data"
_SPANS = "spans", "entities", "labels", "label"
_OFFSETS = "start_offset", "end_offset"
# What tools call words, and their labels.
_WORDS = "words", "tokens"
_TAGS = "tags", "ner_tags", "ner", "labels"
# What is raised if a line is something else.
_ERRORS = ValueError, TypeError, LookupError, AttributeError, StopIteration
# Spans that cut words, of more than half of which the counting is wrong.
_FEW = 2


class _Cut(NamedTuple):
    """A span that cuts a word, or ends beyond its text."""

    line: int
    text: str
    start: int
    end: int
    label: str
    whole: str
    """The words that it cuts; `""` if there are none"""

    def __str__(self):
        span = f"{self.text[self.start : self.end]!r} ({self.label})"
        if not self.whole:
            span = f"[{self.start}, {self.end}, {self.label!r}]"
            end = f"ends beyond the {len(self.text)} characters of its text"
            return f"line {self.line}: the span {span} {end}"
        return f"line {self.line}: the span {span} cuts words of {self.whole!r}"

    def is_whole_in_utf16(self):
        """Whether it has whole words if it is counted in UTF-16."""
        units = self.text.encode("utf-16-le")
        if len(units) == 2 * len(self.text) or 2 * self.end > len(units):
            return False
        parts = units[: 2 * self.start], units[2 * self.start : 2 * self.end]
        before, span = (x.decode("utf-16-le", "replace") for x in parts)
        after = self.text[len(before) + len(span) :]
        edges = before[-1:] + span[:1], span[-1:] + after[:1]
        return span == span.strip() and not any(map(_joins_letters, edges))


def read_annotated(file, language="en"):
    """Reads JSON Lines, as doccano and Prodigy write them.

    Each line has an object with a `text` and its spans: in `label`, `labels`,
    `entities` or `spans`, as lists `[start, end, type]`, in characters from 0,
    or as objects. Text becomes words as by `tokenize`; no sentence ends within
    a span. Texts that were not accepted in Prodigy are left out. If each line
    has `words` and `tags`, as `keras-elmo tag` writes them, or `tokens` and
    `ner_tags`, as Hugging Face's datasets have them, these are taken.

    Args:
        file: A `TextFile`.
        language: As for `tokenize`.

    Returns:
        A list of `Sentence`s, with labels in BIO, and a list of strings that
        say how they were read.

    Raises:
        ValueError: If the file is not as described. The message has the line.
    """
    lines = enumerate(file.byte_lines(), start=1)
    lines = [(number, line) for number, line in lines if line.strip()]
    names = _names_of_words(lines[0][1]) if lines else None
    if names:
        found = _read_tagged(file.path, lines, names)
    else:
        found = _read_spans(file.path, lines, language)
    if not found[0]:
        raise ValueError(f"'{file.path}' contains no sentences.")
    return found


def _names_of_words(line):
    """Returns the names of a line's words and labels, or `None`."""
    try:
        example = json.loads(line)
        for names in itertools.product(_WORDS, _TAGS):
            words, tags = map(example.get, names)
            is_right = type(words) is type(tags) is list
            kinds = {*map(type, tags)} if is_right else {dict}
            if kinds <= {str, int} and len(words) == len(tags):
                return names
    except _ERRORS:
        pass
    return None


def _read_tagged(path, lines, names):
    """Returns sentences that are given as words and labels."""
    sentences = []
    for number, line in lines:
        try:
            example = json.loads(line)
            words, tags = (example[name] for name in names)
            pairs = [*zip(words, tags, strict=True)]
            is_right = type(words) is type(tags) is list
        except _ERRORS:
            pairs, is_right = [], False
        if is_right and pairs and {*map(type, tags)} == {int}:
            raise ValueError(
                f"'{path}', line {number}: `{names[1]}` are numbers. Write "
                "their names instead; in Hugging Face's datasets, these are "
                f"dataset.features['{names[1]}'].feature.names"
            )
        if not is_right or not all(
            type(x) is str and x.strip() for pair in pairs for x in pair
        ):
            raise ValueError(
                f"'{path}', line {number}: expected a JSON object with "
                f"`{names[0]}` and as many `{names[1]}`, lists of strings, as "
                f"in line {lines[0][0]}. "
                f"Received: {line.decode().strip()[:200]!r}"
            )
        if pairs:
            text = " ".join(words)
            places = [number] * len(words)
            sentences.append(Sentence(text, words, (), tags, places))
    return sentences, [f"their `{names[0]}` and `{names[1]}`"]


def _read_spans(path, lines, language):
    """Returns the sentences of texts with spans of characters."""
    examples = [
        (number, *_parse(f"'{path}', line {number}", line))
        for number, line in lines
    ]
    reading = [f"spaCy's rules ({language})"]
    accepted = [x for x in examples if x[2] is not None]
    if left_out := len(examples) - len(accepted):
        reading.append(f"{left_out:,} texts that were not accepted left out")
    _check_types(path, {x[2] for *_, spans in accepted for x in spans})
    if _are_single(lines, accepted):
        warnings.warn(
            f"'{path}' seems to have answers about single spans, as Prodigy's "
            "recipe ner.teach asks for, so that all other entities of a text "
            "become O. Merge them first, with the recipe ner.silver-to-gold.",
            stacklevel=4,
        )
    sentences, cut = [], []
    texts = raw_sentences((text for _, text, _ in accepted), language)
    for (number, text, spans), parts in zip(accepted, texts):
        words = [*itertools.chain.from_iterable(x.tokens for x in parts)]
        starts = [*itertools.chain.from_iterable(x.starts for x in parts)]
        whole = Sentence(text, words, starts)
        tags = _tags(path, number, whole, spans, cut)
        ends = itertools.accumulate(len(x.tokens) for x in parts)
        # After the last word, a sentence ends in any case.
        ends = [i for i in ends if not tags[i:] or tags[i][0] != "I"]
        for i, j in itertools.pairwise([0, *ends]):
            parts = words[i:j], starts[i:j], tags[i:j], [number] * (j - i)
            sentences.append(Sentence(text, *parts))
    if cut:
        _check_cut(path, cut, sum(len(spans) for *_, spans in accepted))
    return sentences, reading


def _parse(where, line):
    """Returns a text and its spans, or `None` if it was not accepted."""
    try:
        example = json.loads(line)
        text = next(example[name] for name in _TEXT if name in example)
        text.encode()  # It may have half of a surrogate pair.
        is_accepted = example.get("answer", "accept") == "accept"
        if "answer" in example:  # Prodigy leaves `spans` out if there are none.
            example = {"spans": example.get("spans")}
        lists = [example[name] or () for name in _SPANS if name in example]
        # Prodigy has the `label` of a whole text beside its spans.
        filled = [x for x in lists if x and (type(x) is list or x is lists[0])]
        spans = (filled or lists)[0]
        spans = [*dict.fromkeys(map(_parse_span, spans))]
        bad = [x for x in spans if not 0 <= x[0] < x[1]]
    except _ERRORS as error:
        raise ValueError(
            f"{where}: expected a JSON object with a `text` and its spans, in "
            "`label`, `labels`, `entities` or `spans`: lists [start, end, type]"
            " or objects with start, end and label; or one with `words` and "
            "`tags`. "
            f"Received: {line.decode().strip()[:200]!r}"
        ) from error
    if len(filled) > 1:
        raise ValueError(
            f"{where}: expected the spans of a text in one list, and found "
            f"{len(filled)} that have some. Keep the right one. "
            f"Received: {line.decode().strip()[:200]!r}"
        )
    if bad:
        raise ValueError(
            f"{where}: expected spans with 0 <= start < end <= {len(text)}, the"
            f" characters of the text. Received: {bad[0]}"
        )
    return text, spans if is_accepted else None


def _parse_span(span):
    if isinstance(span, dict):
        names = ("start", "end") if "start" in span else _OFFSETS
        span = *map(span.get, names), span["label"]
    start, end, label = span
    if not label.strip():
        raise ValueError(span)
    return operator.index(start), operator.index(end), label.strip()


def _check_types(path, types):
    """Raises `ValueError` if types of entities are labels in BIO."""
    prefixed = {x for x in types if re.match("[BIESLU]-.", x)}
    pairs = {x for x in prefixed if f"I{x[1:]}" in prefixed - {x}}
    if found := prefixed if prefixed == types else pairs:
        label = min(found)
        raise ValueError(
            f"'{path}': expected spans of whole entities, with types such as "
            f"{label[2:]!r}, which become labels in BIO. Join the spans of "
            f"each entity. Received: the type {label!r}"
        )


def _are_single(lines, accepted):
    """Whether each line is about one of several spans of its text."""
    # A text in which all spans can be marked is shown as "ner_manual".
    if any(re.search(rb'"_view_id":\s*"ner"', line) for _, line in lines):
        return True
    spans_of = collections.defaultdict(set)
    for _, text, spans in accepted:
        spans_of[text].update(spans)
    are_single = all(len(spans) == 1 for *_, spans in accepted)
    return are_single and any(len(x) > 1 for x in spans_of.values())


def _tags(path, number, whole, spans, cut):
    """Returns the tags of a text's words; adds `_Cut`s to a list.

    Args:
        path: The file's name in messages.
        number: The line of the text.
        whole: `Sentence` of the whole text.
        spans: Its spans.
        cut: The list.
    """
    text, starts = whole.text, whole.starts
    ends = [start + len(word) for start, word in zip(starts, whole.tokens)]
    tags = ["O"] * len(starts)
    for start, end, label in spans:
        if end > len(text):
            cut.append(_Cut(number, text, start, end, label, ""))
            continue
        i, j = bisect.bisect_right(ends, start), bisect.bisect_left(starts, end)
        if {*tags[i:j]} != {"O"}:
            raise ValueError(
                f"'{path}', line {number}: the span {text[start:end]!r} "
                f"({label}) has no word of its own. Expected spans that do not "
                "overlap, around words"
            )
        first, last = whole.char_span(i, j)
        if first < start or end < last:
            cut.append(_Cut(number, text, start, end, label, text[first:last]))
        tags[i:j] = [f"B-{label}", *[f"I-{label}"] * (j - i - 1)]
    return tags


def _joins_letters(characters):
    return len(characters) == 2 and characters.isalnum()


def _check_cut(path, cut, number):
    """Warns of spans that cut words, or raises `ValueError`.

    Args:
        path: The file's name in messages.
        cut: List of `_Cut`s.
        number: Integer, the number of all spans.
    """
    what = (
        f"'{path}': {len(cut):,} of {number:,} spans cut words or end beyond "
        "the text"
    )
    in_utf16 = [x for x in cut if x.is_whole_in_utf16()]
    if 2 * len(in_utf16) > len(cut):
        shown = "; ".join(map(str, in_utf16[:5]))
        raise ValueError(
            f"{what}, and are whole words if they are counted in UTF-16, as "
            "JavaScript does, where an emoji counts twice. Count Unicode code "
            "points: len(text.encode('utf-16-le')[:2 * start].decode("
            f"'utf-16-le')) in Python. Received: {shown}"
        )
    language = ""
    if sum(len(x.whole) > 3 * (x.end - x.start) for x in cut) * 2 > len(cut):
        language = (
            " The words are far longer than the spans, so that the text may "
            f"not be divided by the rules of its {argument_name('language')}."
        )
    beyond = [x for x in cut if not x.whole]
    if beyond or len(cut) > max(_FEW, number / 2):
        shown = "; ".join(map(str, cut[:5]))
        raise ValueError(
            f"{what}.{language} They may be counted in bytes or in UTF-16, "
            "with a line end \\r\\n as one character, or from 1. Expected "
            f"Unicode code points from 0. Received: {shown}"
        )
    warnings.warn(
        f"'{path}', {cut[0]}, which are taken. There are {len(cut):,} such "
        f"spans.{language}",
        stacklevel=4,
    )
