"""Files with a word in each line: the columns of the words and labels."""

import collections
import functools
import io
import itertools
import re
import warnings
from typing import NamedTuple

from keras_elmo.checks import argument_name
from keras_elmo.checks import check_integer
from keras_elmo.text import conllu
from keras_elmo.text import text_kinds
from keras_elmo.text.corpora import TOKEN
from keras_elmo.text.sentences import Sentence

# CoNLL-2003 has the first between documents, in the column of the words. The
# other is the byte order mark of a file that was added to another.
_NO_WORDS = "-DOCSTART-", "\ufeff"
# Words of a sentence, above which its end was probably not found.
_LONG = 1000
# Sentences whose columns are looked at.
_SAMPLE = 200
# A mark of byte order, and marks of direction and width.
_INVISIBLE = "\ufeff\u200b\u200e\u200f"
# What people call columns.
_NAME = re.compile(
    "(word|token|form|text|label|tag|entity|(ne|ner|pos|upos|iob|bio)([-_].*)?)"
    "s?",
    re.IGNORECASE,
)

_WAYS_OUT = {
    text_kinds.JSON: "is JSON. keras-elmo train-tagger, evaluate and "
    "check-labels read annotated text: a file that ends in .jsonl, with an "
    "object in each line that has a text and its spans; or .json of Label "
    "Studio",
    text_kinds.COMMAS: "has columns separated by commas. If an annotation tool "
    'wrote them, export JSON. If not, write tabs instead: python -c "import '
    "csv, sys; [print(*row, sep='\\t') for row in "
    "csv.reader(sys.stdin, delimiter=',')]\" < OLD > NEW",
    text_kinds.CONLLU: "is CoNLL-U: let its name end in .conllu",
    text_kinds.CR: "has lines that end in CR alone: tr '\\r' '\\n' < OLD > NEW",
    text_kinds.JOINED: "has sentences whose words have labels joined to them. "
    "Divide them, such as at |: sed 's/$/\\n/; s/ /\\n/g; s/|/\\t/g' OLD > NEW",
    text_kinds.MARKED: "has <START:person> ... <END> around entities. Write a "
    "word in each line, with the label B-person for the first word of an "
    "entity, I-person for its others, and O for words outside",
    text_kinds.STANDOFF: "has places of entities, as brat writes them. Write "
    "a word in each line, with the label B-PER for the first word of a PER, "
    "I-PER for its others, and O for words outside",
}
_SENTENCES = (
    "each line has a sentence and its labels. Write a word and its label in "
    "each line: python -c \"import sys; [print(*map('\\t'.join, zip(*map("
    "str.split, x.split('\\t')))), '', sep='\\n') for x in sys.stdin]\" < OLD "
    "> NEW"
)

# What a column may contain.
_EMPTY, _COUNTS, _NUMBERS = "empty", "counts the words", "numbers"
_ONE, _SAME = "one value", "one value in each sentence"
_ENTITIES = "labels of entities"
_LABELS, _TEXT, _PHRASES = "labels", "text", "text with spaces"

_flat = itertools.chain.from_iterable


def read_columns(file, column=None, word_column=None, keep_columns=False):
    """Reads the words and labels of a `TextFile`, as `read_conll` does.

    Args:
        file: The `TextFile`.
        column: As for `read_conll`.
        word_column: As for `read_conll`.
        keep_columns: Boolean, whether to keep all columns of each word.

    Returns:
        A list of `Sentence`s, and a list of strings that say how they were
        read.
    """
    _check_kind(file)
    columns = Columns(file, column, word_column)
    sentences, sample = [], []
    for rows in columns.without_comments():
        words, tags = columns.pick(rows)
        lines = range(rows[0][0], rows[-1][0] + 1)
        if len(lines) != len(rows):
            lines = [line for line, _ in rows]
        kept = keep_columns and [columns.with_label_last(x) for _, x in rows]
        sentences.append(
            Sentence(" ".join(words), words, (), tags, lines, kept or ())
        )
        if len(sample) < _SAMPLE:
            # The others may be comments after all.
            some = [x for x in rows if not _is_marked(x)]
            sample += [some] if some else []
    others = columns.check(sentences, sample)
    reading = [f"words in column {columns.word_column}"]
    reading.append(f"labels in column {columns.column}")
    if others:
        reading.append(f"more labels in {', '.join(map(str, others))}")
    if comments := columns.comments:
        reading.append(
            f"{len(comments):,} comments, the first in line {min(comments)}"
        )
    return sentences, reading


def _check_kind(file):
    """Raises `ValueError` if a `TextFile` has no columns."""
    kind, rows = file.kind.looks_like, file.start.splitlines()
    is_csv = re.search(r"\.csv(\.gz)?$", file.path)
    if is_csv and re.match(rb"[^\t\n]*,[^\t\n]*$", file.start, re.MULTILINE):
        kind = text_kinds.COMMAS
    elif kind == text_kinds.COMMAS:
        # Columns that spaces separate may have commas.
        numbers = [len(row.split()) for row in rows]
        kind = kind if 2 * numbers.count(1) > len(rows) else None
    if kind in _WAYS_OUT:
        raise ValueError(
            "A labelled file must have a word and its label in each line, "
            f"separated by a tab or spaces, but '{file.path}' {_WAYS_OUT[kind]}"
        )


class Columns:
    """The columns of a `TextFile`, and its rows: pairs `(line, columns)`.

    Args:
        file: The `TextFile`.
        column: Integer, the column of the labels, or `None`.
        word_column: Integer, the column of the words, or `None`.

    Attributes:
        column: Integer, the column of the labels, from 1.
        word_column: Integer, the column of the words, from 1.
        comments: Set of the lines of comments that were found.

    Raises:
        ValueError: If there are no such columns.
    """

    def __init__(self, file, column, word_column):
        check_integer("column", column, 1, optional=True)
        check_integer("word_column", word_column, 1, optional=True)
        # It is read more than once, and takes less memory than all its rows.
        text = io.BytesIO()
        text.writelines(file.byte_lines())
        self._path, self._text = file.path, text.getvalue()
        self.comments = set()
        form = 1
        if file.kind.format == "conllu":
            self._parse, form, label = conllu.parser(file)
            column = column or label
        else:
            self._has_tabs = _has_tabs(file.start)
            self._parse = self._parse_line
        rows = _flat(self._blocks())
        self._first = next((x for x in rows if not _is_marked(x)), None)
        if self._first is None:
            raise ValueError(f"'{self._path}' contains no sentences.")
        _, row = self._first
        self._are_given = column is not None, word_column is not None
        # If each line ends in a tab, it is no column: the label is before it.
        used = max(i for i, x in enumerate(row, start=1) if x.strip())
        self._has_names = sum(map(bool, map(_NAME.fullmatch, row))) > 1
        self.column, self.word_column = column or used, word_column or form
        self._needed = max(used, self.column, self.word_column)
        self._width = len(row) if column else self._needed
        for name in ("column", "word_column"):
            if getattr(self, name) > len(row):
                self._fail(f"{argument_name(name)} must be one of its columns")
        if used == 1:
            self._fail(
                "expected a word and its label, separated by a tab or a space. "
                "If there are no labels, use keras-elmo tag, which takes a "
                "sentence in each line"
            )
        if self.column == self.word_column:
            flags = map(argument_name, ("word_column", "column"))
            self._fail(f"{' and '.join(flags)} must be different")

    def _parse_line(self, line, number):
        """Returns the columns of a line; or `None`."""
        columns = line.split("\t") if self._has_tabs else TOKEN.findall(line)
        if columns[0] in _NO_WORDS:
            return None
        if len(columns) > 1 or not self._has_tabs:
            return columns
        if line.startswith("#"):
            self.comments.add(number)
        elif line.split()[0] not in _NO_WORDS:
            what = "expected a tab between columns, as in most lines"
            self._fail(what, (number, columns))
        return None

    def _blocks(self):
        """Returns an iterator of lists of rows, between empty lines."""
        lines = map(bytes.decode, io.BytesIO(self._text))
        return filter(None, conllu.blocks_of_rows(lines, self._parse))

    def without_comments(self):
        """Yields the rows of each sentence, without comments before it."""
        left_out = []
        for rows in self._blocks():
            marked, rows = _divide(rows)
            words = [x for x in marked if self._may_be_word(x[1])]
            left_out += [x for x, row in words if not self._is_known(row)]
            words = [x for x in words if self._is_known(x[1])]
            self.comments.update(x[0] for x in marked if x not in words)
            if rows := words + rows:
                yield rows
        if left_out:
            warnings.warn(
                f"'{self._path}', line {left_out[0]}: this line is left out as "
                "a comment, because it begins with # and no word has its "
                f"label. There are {len(left_out):,} such lines.",
                stacklevel=4,
            )

    def _may_be_word(self, row):
        """Whether a row that begins with # may have a word and its label."""
        is_alike = len(row) == len(self._first[1])
        has_all = is_alike and row[self.column - 1].strip()
        return has_all and row[2:3] != ["="]  # As in "# text = A comment".

    def _is_known(self, row):
        """Whether a word has its label, if its first column is a lone #."""
        if row[0].strip("#"):  # A hash tag is a word.
            return True
        label = row[self.column - 1].strip().strip(_INVISIBLE)
        return text_kinds.LABEL.fullmatch(label) or label in self._labels

    @functools.cached_property
    def _labels(self):
        """The labels of all words but those before a sentence with a lone #."""
        labels = set()
        for rows in self._blocks():
            marked, rows = _divide(rows)
            words = [x for x in marked if self._may_be_word(x[1])]
            words = [x for x in words if x[1][0].strip("#")]
            labels.update(self.pick(words + rows)[1])
        return labels

    def pick(self, rows):
        """Returns the words and the labels of rows, without white space.

        Raises:
            ValueError: If a row has other columns than the first, or none of
                the two.
        """
        if {len(row) for _, row in rows} != {self._width}:
            for line, row in rows:
                self._check_number(line, row)
        i, j = self.word_column - 1, self.column - 1
        words, tags = [row[i] for _, row in rows], [row[j] for _, row in rows]
        text = "".join(words + tags)
        if text.split() != [text] or not text.isprintable():
            # A word may be a space, such as one that does not break a line.
            words = [x.strip("\ufeff").strip() or x for x in words]
            tags = [x.strip().strip(_INVISIBLE) for x in tags]
        if "" in words:
            what = f"there is no word in column {self.word_column}"
            self._fail(what, rows[words.index("")])
        if "" in tags:
            what = f"there is no label in column {self.column}. It is O for a "
            what += "word outside all entities"
            self._fail(what, rows[tags.index("")])
        return words, tags

    def with_label_last(self, row):
        """Returns the columns of a row, with `_` for an empty one."""
        row = [x.strip() or "_" for x in row[: self._width]]
        label = row.pop(self.column - 1)
        return [*row, label]

    def _check_number(self, line, row):
        """Raises `ValueError` if a row has other columns than the first."""
        first_line, first = self._first
        rest = row[self._width :]
        if len(row) >= self._needed and not any(map(str.strip, rest)):
            return
        advice = ""
        if self._has_names:
            advice = ", which may be a header. If it is, remove it"
        elif row[0].startswith("#"):
            advice = ". If it is a comment, move it to the start of a sentence"
        elif len([*filter(None, row)]) == len([*filter(None, first)]):
            advice = ". Write one tab between columns: tr -s '\\t' < OLD > NEW"
        what = f"expected {self._needed} columns, as in line {first_line}"
        self._fail(f"{what}{advice}", (line, row))

    def check(self, sentences, sample):
        """Raises `ValueError` if a column has something else.

        Args:
            sentences: List of `Sentence`s.
            sample: The rows of some of them.

        Returns:
            List of other columns that have labels of entities.
        """
        longest = max(sentences, key=lambda x: len(x.tokens))
        size = len(longest.tokens)
        if size > _LONG:
            warnings.warn(
                f"'{self._path}', line {longest.lines[0]}: a sentence of "
                f"{size:,} words begins here. Is there an empty line after "
                "each sentence?",
                stacklevel=4,
            )
        found = {
            i: _look([[row[i - 1].strip() for _, row in x] for x in sample])
            for i in range(1, self._needed + 1)
        }
        words, labels = found[self.word_column], found[self.column]
        counts = collections.Counter(_flat(x.tags for x in sentences))
        self._check_header(sentences, counts, size)
        if all(map(re.compile(r"\S+ ").match, words.values)):
            pairs = zip(words.values, labels.values)
            if all(len(x.split()) == len(y.split()) for x, y in pairs):
                self._fail(_SENTENCES)
            if size > 1:
                self._fail(
                    f"words in column {self.word_column} have spaces. Separate "
                    "columns by spaces or by tabs, not by both: tr ' ' '\\t' < "
                    "OLD > NEW"
                )
        others = [i for i, x in found.items() if x.content == _ENTITIES]
        others = [i for i in others if i not in (self.word_column, self.column)]
        is_given, words_are_given = self._are_given
        wrong = []
        if not words_are_given and (
            words.content in (_EMPTY, _COUNTS, _NUMBERS, _ENTITIES)
            or (words.content in (_ONE, _SAME) and size > 2)
        ):
            wrong.append(f"words in column {self.word_column}")
        if (
            labels.content == _PHRASES
            or (
                len(counts) == 1 and not any(map(str.isalnum, labels.values[0]))
            )
            or (not is_given and labels.content == _COUNTS)
            or (not is_given and others and labels.content != _ENTITIES)
            or (
                len(words.values) > 50
                and len({*labels.values}) > len({*words.values})
            )
        ):
            wrong.append(f"labels in column {self.column}")
        if wrong:
            shown = "; ".join(f"column {i}: {x}" for i, x in found.items())
            flags = map(argument_name, ("word_column", "column"))
            self._fail(
                f"expected {' and '.join(wrong)}, but found {shown}. Choose "
                f"with {' and '.join(flags)}"
            )
        return others

    def _check_header(self, sentences, counts, longest):
        """Raises `ValueError` if the first row is a header, or warns."""
        line, row = self._first
        if counts[row[self.column - 1].strip()] != 1:
            return
        if self._has_names and longest > 1:
            self._fail("it is a header. Remove this line")
        word = row[self.word_column - 1].strip()
        number = sum(x.tokens.count(word) for x in sentences)
        is_number = conllu.ID.fullmatch(row[0])
        if number == 1 and not is_number and counts.total() > 1000:
            what = f"'{self._path}', line {line}: is {row} a "
            warnings.warn(f"{what}header? Then remove it.", stacklevel=5)

    def _fail(self, what, row=None):
        line, columns = row or self._first
        some = str(columns)
        if len(some) >= 300:
            some = f"{some[:300]}..."
        raise ValueError(
            f"'{self._path}', line {line}: {what}. Received: {some}"
        )


class _Column(NamedTuple):
    """What a column has in some sentences."""

    values: list[str]
    content: str

    def __str__(self):
        some = [x[:20] or "''" for x in dict.fromkeys(self.values)]
        return f"{', '.join(some[:3])} ({self.content})"


def _look(sentences):
    """Returns the `_Column` of its cells in each sentence."""
    values = [*_flat(sentences)]
    return _Column(values, _content(sentences, values))


def _content(sentences, values):
    """Returns what a column contains, as a message says it."""
    distinct, has_long = {*values}, len(sentences) < len(values)
    if distinct == {""}:
        return _EMPTY
    if has_long and all(map(_is_counted, sentences)):
        return _COUNTS
    if len(distinct) == 1:
        return _ONE
    if all(map(text_kinds.LABEL.fullmatch, distinct)):
        return _ENTITIES
    if has_long and all(len({*x}) == 1 for x in sentences):
        return _SAME
    letters = sum(any(map(str.isalpha, x)) for x in values)
    if len(values) > 10 and letters <= 0.05 * len(values):
        return _NUMBERS
    if 2 * sum(" " in x for x in distinct) > max(2, len(distinct)):
        return _PHRASES
    return _LABELS if len(distinct) ** 2 < 2 * len(values) else _TEXT


def _is_counted(words):
    """Whether words are 1, 2, 3, ..., or such with ranges as in CoNLL-U."""
    if not all(map(conllu.ID.fullmatch, words)):
        return False
    numbers = [int(x) for x in words if x.isdecimal()]
    if not numbers:  # In WebAnno's files, the sentence stands before: 3-1, 3-2.
        numbers = [int(re.split("[-.]", x)[1]) for x in words]
    first = numbers[0]
    return first < 2 and numbers == [*range(first, first + len(numbers))]


def _has_tabs(start):
    """Whether most rows at the start of a text have a tab."""
    rows = [x for x in start.splitlines() if x.strip()]
    rows = [x for x in rows if x[:1] != b"#"] or rows
    return 2 * sum(b"\t" in row for row in rows) > len(rows)


def _is_marked(row):
    return row[1][0].startswith("#")


def _divide(rows):
    """Divides rows before the first one that does not begin with #."""
    marked = [*itertools.takewhile(_is_marked, rows)]
    return marked, rows[len(marked) :]
