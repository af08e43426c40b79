"""Labelled files, which several commands read: flags, checks and reports."""

import warnings

from keras_elmo.commands.arguments import positive_integer

# How many labels, and words of the first sentence, are shown.
_SHOWN = 12
_PREFIXES = (
    "If they are types of entities, write B-PER for the first word of a PER, "
    "I-PER for its others, and O for words outside"
)


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
        help="the language of .jsonl and .json, such as de: spaCy divides "
        "their text into words by its rules. Default: %(default)s",
    )


def add_training_arguments(add):
    """Adds the arguments for the training of taggers on a labelled file."""
    add(
        "--elmo",
        metavar="MODEL",
        default="english_mini",
        help="an ELMo model, as for keras-elmo embed. Default: %(default)s, "
        "which is in the package",
    )
    add(
        "--word-vectors",
        metavar="FILE",
        help="vectors of words, which the tagger reads beside ELMo's: a "
        "text or binary file of GloVe, word2vec or fastText, plain or .gz",
    )
    add(
        "--seed",
        type=int,
        default=1,
        help="seed of all random numbers. With the same seed, the tagger "
        "predicts the same labels on the same machine. Default: %(default)s",
    )
    add(
        "--max-labels",
        type=positive_integer,
        metavar="N",
        default=300,
        help="the most different labels. The memory grows with the square of "
        "their number. Default: %(default)s",
    )


def read(path, arguments):
    """Returns the `LabelledText` of a labelled file, and its scheme.

    Raises:
        ValueError: As `read_labelled` does; or as `check_scheme` does, with the
            line.
    """
    from keras_elmo.crf.tags import check_scheme
    from keras_elmo.crf.tags import find_scheme
    from keras_elmo.text.labelled_text import read_labelled

    columns = arguments.column, arguments.word_column
    text = read_labelled(path, *columns, arguments.language)
    counts = text.counts()
    try:
        return text, check_scheme(counts)
    except ValueError as error:
        others = (x for x in counts if x != "O" and not find_scheme([x]))
        label = next(others, next(iter(counts)))
        line = text.line_of(label)
        is_first = line == text.sentences[0].lines[0] and counts[label] == 1
        advice = ". Is this line a header?" if is_first else ""
        where = f"'{path}', {text.unit} {line}"
        raise ValueError(f"{where}: {error}{advice}") from error


def check_labels(text):
    """Raises `ValueError` if there is only one label to train on."""
    if len(labels := text.counts()) == 1:
        first, *_ = text.reading
        advice = "Is it the right column? " if "column" in first else ""
        raise ValueError(
            f"'{text.path}' must have two labels or more. {advice}Received: "
            f"only {next(iter(labels))!r}, {', '.join(text.reading)}"
        )


def check_known(text, scheme, known, known_scheme):
    """Raises `ValueError` if a tagger can predict none of a file's labels.

    It warns of labels that it cannot predict. With a scheme, the types of
    entities count, as a file may have another scheme.

    Args:
        text: A `LabelledText`.
        scheme: The scheme of its labels, or `None`.
        known: Iterable of the tagger's labels; empty to compare only schemes.
        known_scheme: The scheme of these, or `None`.
    """
    from keras_elmo.crf.tags import entities

    def kind(label):
        is_entity = known_scheme and label != "O"
        return entities([label])[0][2] if is_entity else label

    counts = text.counts()
    if known_scheme and not scheme and (others := {*counts} - {"O"}):
        label = min(others)
        raise ValueError(
            f"'{text.path}', {text.unit} {text.line_of(label)}: expected labels"
            f" of entities, as the tagger has. {_PREFIXES}. Received: {label!r}"
        )
    known = {*map(kind, known)}
    unknown = {}
    for label in counts:
        if kind(label) not in known:
            unknown.setdefault(kind(label), text.line_of(label))
    if known and unknown:
        said = (
            f"'{text.path}' has labels that the tagger cannot predict: "
            + _shown(
                f"{x!r} ({text.unit} {line})" for x, line in unknown.items()
            )
        )
        if not {*map(kind, counts)} & known - {"O"}:
            raise ValueError(f"{said}. It knows only {_shown(sorted(known))}")
        warnings.warn(f"{said}.", stacklevel=2)


def describe(text, scheme):
    """Returns what was read from a file, as lines of text."""
    counts = text.counts()
    marks = f"in {scheme}" if scheme else "in no scheme, so scored word by word"
    common = [f"{x} {number:,}" for x, number in counts.most_common()]
    words = map("/".join, zip(text.words[0], text.tags[0]))
    lines = [
        f"{text.path}: {many(len(text.sentences), 'sentence')}, "
        f"{many(counts.total(), 'word')}, "
        f"longest sentence {many(max(map(len, text.words)), 'word')}",
        ", ".join(text.reading),
        f"{many(len(counts), 'label')}, {marks}: {_shown(common)}",
        f"first sentence: {_shown(words, ' ')}",
    ]
    if not scheme and {*counts} & {"O", "0"}:
        lines[2] += f". {_PREFIXES}"
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


def many(number, what):
    """Returns a number and what is counted, in the plural if need be."""
    return f"{number:,} {what}{'s' if number != 1 else ''}"


def _shown(items, gap=", "):
    items = [*items]
    more = ["..."] if len(items) > _SHOWN else []
    return gap.join(items[:_SHOWN] + more)
