"""Labelled files, which several commands read: flags, checks and reports."""

import warnings

from keras_elmo.commands.arguments import positive_integer

# How many labels, and words of the first sentence, are shown.
_SHOWN = 12


def add_column_arguments(add):
    """Adds the arguments for the columns of labelled files."""
    add(
        "--column",
        type=positive_integer,
        metavar="N",
        help="the column of the labels, from 1. Default: the last one; in "
        "CoNLL-U the fourth, parts of speech",
    )
    add(
        "--word-column",
        type=positive_integer,
        metavar="N",
        help="the column of the words, from 1. Default: the first one; in "
        "CoNLL-U the second",
    )


def add_arguments(add):
    """Adds the arguments for labelled files of every kind."""
    add_column_arguments(add)
    add(
        "--language",
        metavar="CODE",
        default="en",
        help="the language of .jsonl files, such as de: spaCy divides their "
        "text into words by its rules. Default: %(default)s",
    )


def read(path, arguments):
    """Returns the `TaggedText` of a labelled file."""
    from keras_elmo.text.annotated_text import read_annotated
    from keras_elmo.text.corpora import check_file
    from keras_elmo.text.tagged_text import read_columns

    check_file(path, "labelled text")
    if path.endswith((".jsonl", ".jsonl.gz")):
        if arguments.column or arguments.word_column:
            raise ValueError("--column and --word-column are not for .jsonl.")
        return read_annotated(path, arguments.language)
    return read_columns(path, arguments.column, arguments.word_column)


def find_scheme_of(text):
    """Returns the scheme of a file's labels.

    Raises:
        ValueError: As `check_scheme` does, with the line.
    """
    from keras_elmo.crf.tags import check_scheme
    from keras_elmo.crf.tags import find_scheme

    counts = text.counts()
    labels = [*counts]
    if len(labels) == 1:
        raise ValueError(
            f"'{text.path}' must have two labels or more. Is it the right "
            f"column? Received: only {labels[0]!r}, {', '.join(text.how)}"
        )
    try:
        return check_scheme(labels)
    except ValueError as error:
        others = (x for x in labels if x != "O" and not find_scheme([x]))
        label = next(others, labels[0])
        line = text.line_of(label)
        is_first = line == text.lines[0][0] and counts[label] == 1
        how = ". Is this line a header?" if is_first else ""
        raise ValueError(f"'{text.path}', line {line}: {error}{how}") from error


def check(text, scheme, known):
    """Checks labels of a tagger; warns of those that it cannot predict.

    Args:
        text: A `TaggedText`.
        scheme: The scheme of the tagger's labels, or `None`. With a scheme, the
            types of entities count, as a file may have another scheme.
        known: Iterable of the tagger's labels; empty to warn of none.

    Raises:
        ValueError: If a label marks no entity, but the scheme does; or if the
            tagger can predict none of the file's labels.
    """
    from keras_elmo.crf.tags import entities

    def kind(label):
        if not scheme or label == "O":
            return label
        return entities([label])[0][2]

    known = set(map(kind, known))
    unknown, found = {}, set()
    for label in text.counts():
        try:
            found.add(kind(label))
        except ValueError as error:
            line = text.line_of(label)
            raise ValueError(f"'{text.path}', line {line}: {error}") from error
        if known and kind(label) not in known:
            unknown.setdefault(kind(label), text.line_of(label))
    told = (
        f"'{text.path}' has labels that the tagger cannot predict: "
        + _shown(f"{x!r} (line {line:,})" for x, line in unknown.items())
    )
    if unknown and not found & known - {"O"}:
        raise ValueError(f"{told}. It knows only {_shown(sorted(known))}")
    if unknown:
        warnings.warn(f"{told}.", stacklevel=2)


def describe(text, scheme):
    """Returns what was read from a file, as lines of text."""
    from keras_elmo.crf.tags import find_scheme

    counts = text.counts()
    how = "in no scheme, so scored word by word"
    if scheme:  # The file may have another one.
        how = f"in {find_scheme(counts) or scheme}"
    common = [f"{x} {number:,}" for x, number in counts.most_common()]
    words = map("/".join, zip(text.sentences[0], text.tags[0]))
    lines = [
        f"{text.path}: {_many(len(text.sentences), 'sentence')}, "
        f"{_many(counts.total(), 'word')}, "
        f"longest sentence {_many(max(map(len, text.sentences)), 'word')}",
        ", ".join(text.how),
        f"{_many(len(counts), 'label')}, {how}: {_shown(common)}",
        f"first sentence: {_shown(words, ' ')}",
    ]
    if not scheme and {*counts} & {"O", "0"}:
        lines[2] += (
            ". If they are types of entities, write B-PER for the first word of"
            " a PER, I-PER for its others, and O for words outside"
        )
    return "\n  ".join(lines)


def describe_scores(path, scores):
    """Returns scores as a table, with a comment if it says nothing."""
    rows = {"all": scores} if "f1" in scores else {}
    width = max(12, *map(len, scores["types"]), 0)
    lines = [
        f"{path}: {scores['accuracy']:.1%} of the labels are right",
        f"{'':{width}} {'F1':>7} {'precision':>10} {'recall':>7} {'number':>7}",
    ]
    for name, x in (rows | scores["types"]).items():
        shares = f"{x['f1']:7.1%} {x['precision']:10.1%} {x['recall']:7.1%}"
        lines.append(f"{name or '-':{width}} {shares} {x['count']:7,}")
    if scores.get("f1") == 0:
        lines.append(
            "The tagger finds none of these entities, so it is of little use: "
            "do its labels and words look like those of this file?"
            if scores["count"]
            else "There are no entities in this file, so its scores do not show"
            " how good the tagger is."
        )
    return "\n".join(lines)


def _many(number, what):
    return f"{number:,} {what}{'s' if number != 1 else ''}"


def _shown(items, gap=", "):
    items = [*items]
    more = ["..."] if len(items) > _SHOWN else []
    return gap.join(items[:_SHOWN] + more)
