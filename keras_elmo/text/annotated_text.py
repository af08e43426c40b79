"""Text whose entities are spans of characters, as annotation tools write it."""

import bisect
import itertools
import json
import operator
import warnings

from keras_elmo.text.corpora import checked_lines
from keras_elmo.text.raw_text import raw_sentences
from keras_elmo.text.tagged_text import TaggedText

# What tools call the spans of a text. In Prodigy, there may be a `label` of the
# whole text beside `spans`.
_SPANS = "spans", "entities", "labels", "label"
_OFFSETS = "start_offset", "end_offset"
# What is raised if a line is something else.
_ERRORS = ValueError, TypeError, LookupError, AttributeError, StopIteration


def read_annotated(path, language="en"):
    """Reads JSON Lines, as doccano and Prodigy write them.

    Each line has an object with a `text` and its spans: in `label`, `labels`,
    `entities` or `spans`, as lists `[start, end, type]`, in characters from 0,
    or as objects. Text becomes words as by `tokenize`; no sentence ends within
    a span. Texts that were not accepted in Prodigy are left out. If each line
    has `words` and `tags`, as `keras-elmo tag` writes them, these are taken.

    Args:
        path: Path of the file, in UTF-8, plain or gzip.
        language: As for `tokenize`.

    Returns:
        A `TaggedText`, with labels in BIO.

    Raises:
        ValueError: If the file is not as described. The message has the line.
    """
    lines = enumerate(checked_lines(path), start=1)
    lines = [(number, line) for number, line in lines if line.strip()]
    found = TaggedText(path, [], [], [], [], [])
    is_tagged = lines and _pairs(lines[0][1]) is not None
    read = _read_tagged if is_tagged else _read_spans
    read(found, lines, language)
    if not found.sentences:
        raise ValueError(f"'{path}' contains no sentences.")
    return found


def _read_spans(found, lines, language):
    """Adds texts with spans of characters to a `TaggedText`."""
    path = found.path
    found.how.append(f"spaCy's rules ({language})")
    examples = [
        (number, *_parse(line, f"'{path}', line {number}"))
        for number, line in lines
    ]
    accepted = [x for x in examples if x[2] is not None]
    if left_out := len(examples) - len(accepted):
        found.how.append(f"{left_out:,} texts that were not accepted left out")
    cut = []
    texts = raw_sentences((text for _, text, _ in accepted), language)
    for (number, text, spans), sentences in zip(accepted, texts):
        words = [*itertools.chain.from_iterable(sentences)]
        where = f"'{path}', line {number}"
        tags = _tags(text, words, spans, where, cut)
        ends = itertools.accumulate(map(len, sentences))
        # After the last word, a sentence ends in any case.
        ends = [i for i in ends if not tags[i:] or tags[i][0] != "I"]
        for i, j in itertools.pairwise([0, *ends]):
            sentence = [word for _, word in words[i:j]]
            found.add(sentence, tags[i:j], [number] * (j - i))
    if cut:
        told = f"{cut[0]}. There are {len(cut):,} such spans"
        number = sum(len(spans) for *_, spans in accepted)
        if len(cut) > max(10, number / 2):
            raise ValueError(
                f"{told}. Are they counted in bytes, or in UTF-16?"
            )
        warnings.warn(f"{told}.", stacklevel=3)


def _pairs(line):
    """Returns the pairs of a line's `words` and `tags`, or `None`."""
    try:
        example = json.loads(line)
        parts = example["words"], example["tags"]
        is_right = all(isinstance(part, list) for part in parts)
        return [*zip(*parts, strict=True)] if is_right else None
    except _ERRORS:
        return None


def _read_tagged(found, lines, _):
    """Adds sentences with `words` and `tags` to a `TaggedText`."""
    found.how.append("their `words` and `tags`")
    for number, line in lines:
        pairs = _pairs(line)
        if pairs is None or not all(
            type(x) is str and x.strip() for pair in pairs for x in pair
        ):
            raise ValueError(
                f"'{found.path}', line {number}: expected a JSON object with "
                "`words` and as many `tags`, lists of strings, as in line "
                f"{lines[0][0]}. Received: {line.decode().strip()[:200]!r}"
            )
        if pairs:
            found.add(*map(list, zip(*pairs)), [number] * len(pairs))


def _parse(line, where):
    """Returns a text and its spans, or `None` if it was not accepted."""
    try:
        example = json.loads(line)
        text, is_accepted = example["text"], True
        text.encode()  # It may have half of a surrogate pair.
        if "answer" in example:  # Prodigy leaves `spans` out if there are none.
            is_accepted = example["answer"] == "accept"
            example = {"spans": example.get("spans")}
        spans = next(example[name] for name in _SPANS if name in example)
        spans = dict.fromkeys(map(_parse_span, spans or ()))
        bad = [x for x in spans if not 0 <= x[0] < x[1] <= len(text)]
    except _ERRORS as error:
        raise ValueError(
            f"{where}: expected a JSON object with a `text` and its spans, in "
            "`label`, `labels`, `entities` or `spans`: lists [start, end, type]"
            " or objects with start, end and label. "
            f"Received: {line.decode().strip()[:200]!r}"
        ) from error
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


def _tags(text, words, spans, where, cut):
    """Returns the tags of words; adds messages about spans that cut them."""
    starts = [start for start, _ in words]
    ends = [start + len(word) for start, word in words]
    tags = ["O"] * len(words)
    for start, end, label in spans:
        i, j = bisect.bisect_right(ends, start), bisect.bisect_left(starts, end)
        what = f"{where}: the span {text[start:end]!r} ({label})"
        if {*tags[i:j]} != {"O"}:
            raise ValueError(
                f"{what} has no word of its own. Expected spans that do not "
                "overlap, around words"
            )
        if starts[i] < start or end < ends[j - 1]:
            whole = text[starts[i] : ends[j - 1]]
            cut.append(f"{what} cuts a word, so {whole!r} is taken")
        tags[i:j] = [f"B-{label}", *[f"I-{label}"] * (j - i - 1)]
    return tags
