"""Text whose entities are spans of characters, as annotation tools write it."""

import bisect
import collections
import contextlib
import functools
import itertools
import json
import operator
import re
import warnings
from typing import NamedTuple

from keras_elmo.checks import argument_name
from keras_elmo.text.annotation_tools import read_task
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
# So many places are named in a warning.
_PLACES = 10
# Ways to count, the right one first: how much a character counts, and what is
# added to the number of those before a word, and of those before its end.
_COUNTINGS = {
    "from 0": (lambda _: 1, 0, 0),
    "in UTF-16, as JavaScript does, where an emoji counts twice. In Python, "
    "len(text.encode('utf-16-le')[:2 * start].decode('utf-16-le')) is the "
    "number of code points": (lambda x: 1 + (x > "\uffff"), 0, 0),
    "in bytes. In Python, len(text.encode()[:start].decode()) is the number of "
    "code points": (lambda x: len(x.encode()), 0, 0),
    "with \\r\\n as one character": (lambda x: x != "\r", 0, 0),
    "from 1": (lambda _: 1, 1, 1),
    "from 1, and end is the last character": (lambda _: 1, 1, 0),
    "from 0, and end is the last character": (lambda _: 1, 0, -1),
}


class _Unexpected(ValueError):
    """Says what was expected of a line."""


class _Cut(NamedTuple):
    """A span that cuts words, or ends beyond its text."""

    message: str
    size: int
    words: str
    """The words that it cuts; `""` if it ends beyond"""


def read_annotated(file, language="en"):
    """Reads JSON Lines, as doccano and Prodigy write them, or a JSON array.

    Each line has an object with a `text` and its spans: in `label`, `labels`,
    `entities` or `spans`, as lists `[start, end, type]`, in characters from 0,
    or as objects. Text becomes words as by `tokenize`; no sentence ends within
    a span. Texts that were not accepted in Prodigy are left out. If each line
    has `words` and `tags`, as `keras-elmo tag` writes them, or `tokens` and
    `ner_tags`, as Hugging Face's datasets have them, these are taken.

    The objects may also be in a JSON array, and be tasks of Label Studio, as
    for `read_task`. The number of such an object is its `id`.

    Args:
        file: A `TextFile`.
        language: As for `tokenize`.

    Returns:
        A list of `Sentence`s, with labels in BIO; a list of strings that say
        how they were read; and what the numbers of their `lines` are of.

    Raises:
        ValueError: If the file is not as described. The message has the line.
    """
    lines, unit = _objects(file)
    names = _names_of_words(lines[0][1]) if lines else None
    if names:
        parse = functools.partial(_parse_words, names)
        expected = f"`{names[0]}` and as many `{names[1]}`, lists of strings, "
        expected += f"as in {unit} {lines[0][0]}"
    else:
        parse = _parse_spans
        expected = (
            "a `text` and its spans, in `label`, `labels`, `entities` or "
            "`spans`: lists [start, end, type] or objects with start, end and "
            "label; or one with `words` and `tags`; or a task of Label Studio "
            "with `annotations`"
        )
    examples = []
    for number, line in lines:
        try:
            examples.append((number, *parse(json.loads(line))))
        except _ERRORS as error:
            what = f"a JSON object with {expected}"
            if isinstance(error, _Unexpected):
                what = str(error)
            raise ValueError(
                f"'{file.path}', {unit} {number}: expected {what}. "
                f"Received: {line.decode().strip()[:200]!r}"
            ) from error
    if names:
        reading = [f"their `{names[0]}` and `{names[1]}`"]
        sentences = [
            Sentence(" ".join(words), words, (), tags, [number] * len(words))
            for number, words, tags in examples
            if words
        ]
    else:
        reading = [f"spaCy's rules ({language})"]
        accepted = [x for x in examples if x[2] is not None]
        if left_out := len(examples) - len(accepted):
            reading.append(f"left out, because not accepted: {left_out:,}")
        if _are_single(lines, accepted):
            warnings.warn(
                f"'{file.path}' seems to have answers about single spans, as "
                "Prodigy's recipe ner.teach asks for, so that all other "
                "entities of a text become O. Merge them first, with the "
                "recipe ner.silver-to-gold.",
                stacklevel=3,
            )
        sentences = _tagged(file.path, unit, accepted, language)
    if not sentences:
        why = "".join(f" {x.capitalize()}." for x in reading[1:])
        raise ValueError(f"'{file.path}' contains no sentences.{why}")
    return sentences, reading, unit


def _objects(file):
    """Returns the number and the bytes of each JSON object of a file.

    Args:
        file: A `TextFile`.

    Returns:
        A list of pairs; and what the numbers are of, `"line"`, or `"task"` if
        the objects are in an array.
    """
    lines = enumerate(file.byte_lines(), start=1)
    lines = [(number, line) for number, line in lines if line.strip()]
    if not lines or not lines[0][1].lstrip().startswith(b"["):
        return lines, "line"
    try:
        tasks = json.loads(b"".join(line for _, line in lines))
    except ValueError as error:
        raise ValueError(
            f"'{file.path}': expected an array of JSON objects, or an object "
            f"in each line. Received: {error}"
        ) from error
    numbers = [
        task.get("id", i) if isinstance(task, dict) else i
        for i, task in enumerate(tasks, start=1)
    ]
    return [(i, json.dumps(x).encode()) for i, x in zip(numbers, tasks)], "task"


def _names_of_words(line):
    """Returns the names of a line's words and labels, or `None`."""
    with contextlib.suppress(*_ERRORS):
        example = json.loads(line)
        for names in itertools.product(_WORDS, _TAGS):
            words, tags = map(example.get, names)
            if _are_pairs(words, tags) and {*map(type, tags)} <= {str, int}:
                return names
    return None


def _are_pairs(words, tags):
    return type(words) is type(tags) is list and len(words) == len(tags)


def _parse_words(names, example):
    """Returns the words and labels of a line."""
    words, tags = (example[name] for name in names)
    if tags and {*map(type, tags)} == {int}:
        raise _Unexpected(
            f"the names of the labels in `{names[1]}`, and not their numbers. "
            "In Hugging Face's datasets, they are "
            f"dataset.features['{names[1]}'].feature.names"
        )
    if not _are_pairs(words, tags) or not all(map(str.strip, words + tags)):
        raise ValueError
    return words, tags


def _parse_spans(example):
    """Returns a text and its spans, or `None` if it was not accepted."""
    example = read_task(example)
    text = next(example[name] for name in _TEXT if name in example)
    text.encode()  # It may have half of a surrogate pair.
    is_accepted = example.get("answer", "accept") == "accept"
    if "answer" in example:  # Prodigy leaves `spans` out if there are none.
        example = {"spans": example.get("spans")}
    lists = [example[name] or () for name in _SPANS if name in example]
    # Prodigy has the `label` of a whole text beside its spans.
    filled = [x for x in lists if x and (type(x) is list or x is lists[0])]
    if len(filled) > 1:
        raise _Unexpected(
            "the spans of a text in one list, and found "
            f"{len(filled)} that have some. Keep the right one"
        )
    spans = [*dict.fromkeys(map(_parse_span, (filled or lists)[0]))]
    if bad := [x for x in spans if not 0 <= x[0] < x[1]]:
        raise _Unexpected(
            f"spans with 0 <= start < end <= {len(text)}, the characters of "
            f"the text, and found {bad[0]}"
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


def _tagged(path, unit, examples, language):
    """Returns the sentences of texts with spans.

    Args:
        path: The file's name in messages.
        unit: What the numbers are of.
        examples: List of `(number, text, spans)`.
        language: As for `tokenize`.
    """
    _check_types(path, {x[2] for *_, spans in examples for x in spans})
    sentences, texts, cut = [], [], []
    divided = raw_sentences((text for _, text, _ in examples), language)
    for (number, text, spans), parts in zip(examples, divided):
        words = [*itertools.chain.from_iterable(x.tokens for x in parts)]
        starts = [*itertools.chain.from_iterable(x.starts for x in parts)]
        whole = Sentence(text, words, starts)
        texts.append((whole, spans))
        tags = _tags(path, f"{unit} {number}", whole, spans, cut)
        ends = itertools.accumulate(len(x.tokens) for x in parts)
        # After the last word, a sentence ends in any case.
        ends = [i for i in ends if not tags[i:] or tags[i][0] != "I"]
        for i, j in itertools.pairwise([0, *ends]):
            parts = words[i:j], starts[i:j], tags[i:j], [number] * (j - i)
            sentences.append(Sentence(text, *parts))
    if cut:
        _check_cut(path, cut, texts)
    return sentences


def _tags(path, place, whole, spans, cut):
    """Returns the tags of a text's words; adds `_Cut`s to a list.

    Args:
        path: The file's name in messages.
        place: The line of the text, in messages.
        whole: `Sentence` of the whole text.
        spans: Its spans.
        cut: The list.
    """
    text, starts = whole.text, whole.starts
    ends = [end for _, end in whole.char_spans()]
    tags = ["O"] * len(starts)
    for start, end, label in spans:
        where = f"{place}: the span"
        if end > len(text):
            what = f"{where} {[start, end, label]} ends beyond the {len(text)} "
            cut.append(_Cut(f"{what}characters of its text", 0, ""))
            continue
        where = f"{where} {text[start:end]!r} ({label})"
        i, j = bisect.bisect_right(ends, start), bisect.bisect_left(starts, end)
        if {*tags[i:j]} != {"O"}:
            raise ValueError(
                f"'{path}', {where} has no word of its own. Expected spans "
                "that do not overlap, around words"
            )
        if starts[i] < start or end < ends[j - 1]:
            words = text[starts[i] : ends[j - 1]]
            what = f"{where} cuts words of {words!r}"
            cut.append(_Cut(what, end - start, words))
        tags[i:j] = [f"B-{label}", *[f"I-{label}"] * (j - i - 1)]
    return tags


def _number_of_whole(texts, size, before_start, before_end):
    """Returns how many spans are whole words, if they are counted in one way.

    Args:
        texts: List of pairs, the `Sentence` of a text and its spans.
        size: As in `_COUNTINGS`.
        before_start: As in `_COUNTINGS`.
        before_end: As in `_COUNTINGS`.
    """
    number = 0
    for whole, spans in texts:
        places = [*itertools.accumulate(map(size, whole.text), initial=0)]
        words = whole.char_spans()
        starts = {places[i] + before_start for i, _ in words}
        ends = {places[j] + before_end for _, j in words}
        number += sum(i in starts and j in ends for i, j, _ in spans)
    return number


def _check_cut(path, cut, texts):
    """Warns of spans that cut words, or raises `ValueError`.

    Args:
        path: The file's name in messages.
        cut: List of `_Cut`s.
        texts: As for `_number_of_whole`.
    """
    number = sum(len(spans) for _, spans in texts)
    found = {x: _number_of_whole(texts, *y) for x, y in _COUNTINGS.items()}
    counting, why = max(found, key=found.get), ""
    is_other = counting != "from 0" and 2 * found[counting] > number
    if is_other:
        why = f", and {found[counting]:,} are whole words if counted {counting}"
    elif 2 * sum(len(x.words) > 3 * x.size > 0 for x in cut) > len(cut):
        why = (
            ". The words are far longer than the spans, so that the text may "
            f"not be divided by the rules of its {argument_name('language')}"
        )
    is_beyond = not all(x.words for x in cut)
    if is_other or is_beyond or len(cut) > max(_FEW, number / 2):
        why = why or (
            ". They may be counted otherwise, such as in bytes, in UTF-16, "
            "with \\r\\n as one character, or from 1"
        )
        raise ValueError(
            f"'{path}': {len(cut):,} of {number:,} spans cut words or end "
            f"beyond the text{why}. Expected spans around words, in Unicode "
            "code points from 0, up to before end. Received: "
            + "; ".join(x.message for x in cut[:5])
        )
    places = [x.message.partition(":")[0] for x in cut[1:]]
    places = [*dict.fromkeys(places)]
    others = f", others in {', '.join(places[:_PLACES])}" * (len(cut) > 1)
    others += " and so on" * (len(places) > _PLACES)
    warnings.warn(
        f"'{path}', {cut[0].message}, so the whole words are labelled. Spans "
        f"that cut words: {len(cut):,}{others}{why}.",
        stacklevel=4,
    )
