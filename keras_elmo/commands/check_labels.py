"""Finds labels that are probably wrong in the sentences that you train a tagger
on, so that you can look at them first.

TRAIN is a labelled file of any kind that keras-elmo train-tagger reads: a word
and its label in each line, with an empty line after each sentence; CoNLL-U
(.conllu); or annotated text (.jsonl, or .json of Label Studio).

Taggers are trained as by keras-elmo train-tagger, each without a part of the
sentences, the fold that it then checks. The report lists the places where the
tagger's labels are more probable than those of TRAIN, from the surest to the
least sure. If the labels mark entities, each place is a whole entity, of these
kinds in turn: "missing" in TRAIN, "unlikely", another "type", another "edge".
The probabilities are that the labels of these words are exactly these.

Equal sentences with different labels come last. They need no tagger. In JSON,
their kind is "repeated", and they have a list of "places".

REPORT is text to read, or JSON Lines if its name ends in .jsonl or with
--output-format jsonl: an object for each place, with its "kind" and "line" (in
Label Studio, "task" and its id), the "words" of the sentence, of which the
place is from "start_word" to before "end_word"; its "text", or the text that
was annotated, of which it is from "start_char" to before "end_char", counted in
Unicode code points from 0; "labels" and "label_probability" of TRAIN, and
"suggested" labels and their "suggested_probability".

Ctrl-C ends the check. What the folds until then have found is reported.

[options]

examples:
  keras-elmo check-labels train.conll
  keras-elmo check-labels train.conllu report.txt --limit 1000
  keras-elmo check-labels annotated.jsonl issues.jsonl
  keras-elmo check-labels train.conll - --output-format jsonl | jq .line

In Python, keras_elmo.check_labels does the same.
"""

import contextlib
import functools
import json
import sys

from keras_elmo.choices import STANDARD_STREAM
from keras_elmo.commands import labelled_files
from keras_elmo.commands.arguments import positive_integer
from keras_elmo.commands.output import write_output

SUMMARY = "find labels that are probably wrong"

# Words that are shown on each side of a place.
_CONTEXT = 12


def add_arguments(parser):
    """Adds the arguments of `keras-elmo check-labels`."""
    add = parser.add_argument
    add("train", metavar="TRAIN", help="the file of labelled sentences")
    add(
        "output",
        nargs="?",
        default=STANDARD_STREAM,
        metavar="REPORT",
        help='the file to write. Default: "-", standard output',
    )
    labelled_files.add_arguments(add)
    labelled_files.add_training_arguments(add)
    add(
        "--folds",
        type=positive_integer,
        metavar="N",
        default=5,
        help="train N taggers, each without one Nth of the sentences, of which "
        "equal ones stay together. Default: %(default)s",
    )
    add(
        "--limit",
        type=positive_integer,
        metavar="N",
        default=200,
        help="the most places to report. Default: %(default)s, the surest",
    )
    add(
        "--output-format",
        choices=("text", "jsonl"),
        help="text to read, or jsonl, a JSON object for each place. Default: "
        "as the name of REPORT says; else text",
    )
    add("--overwrite", action="store_true", help="replace REPORT if it exists")
    add("--quiet", action="store_true", help="show no progress or summary")


def run(arguments):
    """Runs `keras-elmo check-labels`."""
    if arguments.output_format is None:
        is_json = arguments.output.endswith(".jsonl")
        arguments.output_format = "jsonl" if is_json else "text"
    write_output(arguments, functools.partial(_check, arguments))


def _check(arguments, file):
    import keras

    from keras_elmo.tagging.label_checks import check_labels
    from keras_elmo.text.repeated_sentences import labelled_differently

    text, scheme = labelled_files.read(arguments.train, arguments)
    labelled_files.check_labels(text)
    if not arguments.quiet:
        print(labelled_files.describe(text, scheme), file=sys.stderr)
    keras.utils.set_random_seed(arguments.seed)
    with contextlib.redirect_stdout(sys.stderr):  # It shows progress.
        issues = check_labels(
            text.words,
            text.tags,
            arguments.elmo,
            folds=arguments.folds,
            word_vectors=arguments.word_vectors,
            max_labels=arguments.max_labels,
            verbose=0 if arguments.quiet else 1,
        )
    repeated = [*labelled_differently(text.words, text.tags)]
    shown = issues[: arguments.limit]
    if arguments.output_format == "jsonl":
        rows = [_issue_row(text, x) for x in shown]
        rows += [_repeated_row(text, *x) for x in repeated]
        rows = (json.dumps(x, ensure_ascii=False) for x in rows)
    else:
        rows = [_issue_text(text, scheme, x) for x in shown]
        rows += [_repeated_text(text, *x) for x in repeated]
    for row in rows:
        print(row, file=file)
    groups = labelled_files.many(len(repeated), "group")
    return (
        f"{len(shown):,} of {len(issues):,} places where the tagger differs, "
        f"and {groups} of equal sentences with different labels"
    )


def _place(text, i, start):
    """Returns what numbers a place in the file, and the number."""
    return text.unit, text.sentences[i].lines[start]


def _marked(sentence, start, end):
    """Returns the text around some words of a sentence, which are marked."""
    words = sentence.tokens
    first, last = max(0, start - _CONTEXT), min(len(words), end + _CONTEXT)
    text, places = sentence.text, sentence.char_spans()
    i, j = places[start][0], places[end - 1][1]
    parts = text[places[first][0] : i], text[i:j], text[j : places[last - 1][1]]
    before, inside, after = (" ".join(x.splitlines()) for x in parts)
    dots = "... " * (first > 0), " ..." * (last < len(words))
    return f"{dots[0]}{before}[[{inside}]]{after}{dots[1]}"


def _described(labels, words, scheme):
    """Returns labels, in a scheme as the entities that they mark."""
    from keras_elmo.crf.tags import entities

    if scheme is None:
        return " ".join(labels)
    found = entities(labels)
    names = (f"{kind} {' '.join(words[i:j])!r}" for i, j, kind in found)
    return ", ".join(names) or "no entity"


def _issue_text(text, scheme, issue):
    sentence, (start, end) = text.sentences[issue.sentence], issue[1:3]
    words = sentence.tokens[start:end]
    own, other = (
        f"{_described(labels, words, scheme)} ({share:.1%})"
        for labels, share in (
            (issue.labels, issue.probability),
            (issue.suggested, issue.suggested_probability),
        )
    )
    unit, number = _place(text, issue.sentence, start)
    return (
        f"{text.path}, {unit} {number}: {issue.kind}\n"
        f"  {_marked(sentence, start, end)}\n"
        f"  labelled {own}, the tagger finds {other}\n"
    )


def _repeated_text(text, indices, start, end):
    places = {}
    for i in indices:
        labels = " ".join(text.tags[i][start:end])
        _, number = _place(text, i, start)
        places.setdefault(labels, []).append(str(number))
    lines = (f"  {x}: {text.unit} {', '.join(y)}\n" for x, y in places.items())
    sentence = text.sentences[indices[0]]
    return (
        f"{text.path}: {len(indices)} equal sentences with different labels\n"
        f"  {_marked(sentence, start, end)}\n" + "".join(lines)
    )


def _issue_row(text, issue):
    i, start, end = issue[:3]
    shares = issue.probability, issue.suggested_probability
    own, other = (float(f"{x:.6g}") for x in shares)
    return {
        "kind": issue.kind,
        **_row(text, i, start, end),
        "labels": issue.labels,
        "label_probability": own,
        "suggested": issue.suggested,
        "suggested_probability": other,
    }


def _repeated_row(text, indices, start, end):
    rows = [
        {**_row(text, i, start, end), "labels": text.tags[i][start:end]}
        for i in indices
    ]
    return {"kind": "repeated", "places": rows}


def _row(text, i, start, end):
    """Returns a place in a file, for JSON."""
    sentence, (unit, number) = text.sentences[i], _place(text, i, start)
    row = {unit: number, "words": sentence.tokens}
    row |= {"start_word": start, "end_word": end}
    places = sentence.char_spans()
    row |= {"text": sentence.text, "start_char": places[start][0]}
    row |= {"end_char": places[end - 1][1]}
    return row
