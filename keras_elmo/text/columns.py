"""The columns of words and labels in a file, and what else a file may have."""

import re
import warnings

from keras_elmo.checks import argument_name
from keras_elmo.checks import check_integer
from keras_elmo.text import text_kinds
from keras_elmo.text.corpora import ID

CONLLU_COLUMNS = ["ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD"]
CONLLU_COLUMNS += ["DEPREL", "DEPS", "MISC"]
# The first line of CoNLL-U Plus.
_PLUS = re.compile(rb"#\s*global\.columns\s*=(.*)")

# What people call columns.
_NAME = re.compile(
    "(word|token|form|text|label|tag|entity|(ne|ner|pos|upos|iob|bio)([-_].*)?)"
    "s?",
    re.IGNORECASE,
)
# A mark of byte order, and marks of direction and width.
_INVISIBLE = "\ufeff\u200b\u200e\u200f"
# Rows that are looked at.
_SAMPLE = 2000
_KINDS = {
    "JSON": "is JSON. Of annotated text, keras-elmo train-tagger and evaluate "
    "read JSON Lines: a file that ends in .jsonl, with an object in each line "
    "that has a text and its spans",
    "columns separated by commas or semicolons": "has columns separated by "
    'commas. Write tabs instead: python -c "import csv, sys; [print(*row, sep='
    "'\\t') for row in csv.reader(sys.stdin, delimiter=',')]\" < OLD > NEW",
    "CoNLL-U": "is CoNLL-U: let its name end in .conllu",
    "CR": "has lines that end in CR alone: tr '\\r' '\\n' < OLD > NEW",
}


def conllu_columns(start):
    """Returns the names of the columns, by the first bytes of CoNLL-U."""
    names = match[1].decode().split() if (match := _PLUS.match(start)) else []
    return names if "FORM" in names else CONLLU_COLUMNS


def check_kind(path, start):
    """Raises `ValueError` if a file has no columns, by its first bytes."""
    if path.endswith(text_kinds.CONLLU) or _PLUS.match(start):
        return
    if re.match(rb"[^\r\n]*\r[^\n]", start):
        kind = "CR"
    elif text_kinds.guess_format(path, start) == "conllu":
        kind = "CoNLL-U"
    else:
        kind = text_kinds.describe_columns(start)
        kind = "JSON" if re.match(rb"\s*[\[{]\s*([\[{]|\n)", start) else kind
        numbers = [len(row.split()) for row in start.splitlines()]
        if kind != "JSON" and 2 * numbers.count(1) <= len(numbers):
            return  # Columns that spaces separate may have commas.
    if kind in _KINDS:
        raise ValueError(
            "A labelled file must have a word and its label in each line, "
            f"separated by a tab or spaces, but '{path}' {_KINDS[kind]}"
        )


class Columns:
    """The columns of a file.

    Args:
        path: The file's name in messages.
        line: Integer, the line of the first word.
        row: List of strings, the columns in it.
        column: Integer, the column of the labels, or `None` for the last one.
        word_column: Integer, the column of the words, or `None` for the first.

    Raises:
        ValueError: If there are no such columns.
    """

    def __init__(self, path, line, row, column, word_column):
        check_integer("column", column, 1, optional=True)
        check_integer("word_column", word_column, 1, optional=True)
        self._path, self._line, self._row = path, line, row
        # If each line ends in a tab, it is no column.
        self._used = max(i for i, x in enumerate(row, start=1) if x.strip())
        self._is_exact = column is not None or self._used == len(row)
        self._has_names = sum(map(bool, map(_NAME.fullmatch, row))) > 1
        self._numbers = {len(row)} if self._is_exact else set()
        self._is_default = column is None
        self._sample: list[list[str]] = []
        self.column, self.word_column = column or self._used, word_column or 1
        for name in ("column", "word_column"):
            if getattr(self, name) > len(row):
                self._fail(f"{argument_name(name)} must be one of its columns")
        if self._used == 1:
            self._fail(
                "expected a word and its label, separated by a tab or a space. "
                "If there are no labels, use keras-elmo tag, which takes a "
                "sentence in each line"
            )
        if self.column == self.word_column:
            flags = map(argument_name, ("word_column", "column"))
            self._fail(f"{' and '.join(flags)} must be different")

    def are_in(self, row):
        """Whether a row that begins with `#` may have a word and its label."""
        has_all = len(row) == len(self._row) and row[self.column - 1].strip()
        return has_all and row[2:3] != ["="]  # As in "# text = A comment".

    def pick(self, rows):
        """Returns the words and the labels of rows, without white space.

        Args:
            rows: List of `(line, columns)`.

        Raises:
            ValueError: If a row has other columns than the first, or none of
                the two.
        """
        if {len(row) for _, row in rows} != self._numbers:
            for line, row in rows:
                self._check_number(line, row)
        i, j = self.word_column - 1, self.column - 1
        words, tags = [row[i] for _, row in rows], [row[j] for _, row in rows]
        if len(self._sample) < _SAMPLE:
            # Some that begin with `#` are found to be comments later.
            self._sample += [row for _, row in rows if row[0][:1] != "#"]
        text = "".join(words + tags)
        if text.split() != [text] or not text.isprintable():
            # A word may be a space, such as one that does not break a line.
            words = [x.strip("\ufeff").strip() or x for x in words]
            tags = [x.strip().strip(_INVISIBLE) for x in tags]
        if "" in words:
            what = f"there is no word in column {self.word_column}"
            self._fail(what, *rows[words.index("")])
        if "" in tags:
            what = f"there is no label in column {self.column}. It is O for a "
            what += "word outside all entities"
            self._fail(what, *rows[tags.index("")])
        return words, tags

    def with_label_last(self, row):
        """Returns the columns of a row, with `_` for an empty one."""
        row = [x.strip() or "_" for x in row[: len(self._row)]]
        label = row.pop(self.column - 1)
        return [*row[: self._used - 1], label]

    def _check_number(self, line, row):
        if self._is_exact and len(row) == len(self._row):
            return
        needed = max(self._used, self.column, self.word_column)
        if len(row) >= needed and not any(map(str.strip, row[self._used :])):
            return
        how = ""
        if self._has_names:
            how = ", which may be a header. If it is, remove it"
        elif row[0].startswith("#"):
            how = ". If it is a comment, move it to the start of a sentence"
        elif len([*filter(None, row)]) == len([*filter(None, self._row)]):
            how = ". Write one tab between columns: tr -s '\\t' < OLD > NEW"
        what = f"expected {self._used} columns, as in line {self._line}"
        self._fail(f"{what}{how}", line, row)

    def check(self, sentences, counts, is_given):
        """Raises `ValueError` if a column has something else.

        Args:
            sentences: List of lists of words.
            counts: Dictionary from labels to their numbers.
            is_given: Boolean, whether the user chose the column of the words.

        Returns:
            List of other columns that have labels of entities.
        """
        longest = max(map(len, sentences))
        word, column = f"column {self.word_column}", f"column {self.column}"
        label = self._row[self.column - 1].strip()
        swap = argument_name("column", 1)
        other = argument_name("word_column", 3 - min(self.word_column, 2))
        of_words, of_labels = map(argument_name, ("word_column", "column"))
        words, labels = map(self._values, (self.word_column, self.column))
        letters = sum(any(map(str.isalpha, x)) for x in words)
        spans = [i for i in range(1, self._used + 1) if self._has_spans(i)]
        spans = [i for i in spans if i not in (self.column, self.word_column)]
        problems = {
            f"{word} counts the words, as in 1, 2, 3. Pass {other}": (
                not is_given
                and longest > 1
                and all(map(_is_counted, sentences))
            ),
            f"{word} has labels. Pass {swap} and {other}": (
                not is_given
                and len({*words}) > 1  # "I" is an English word, too.
                and all(map(text_kinds.LABEL.fullmatch, words))
            ),
            "all words of a sentence are the same. Either the text was removed "
            f"from this file, or the words are elsewhere: {of_words}": (
                longest > 2 and all(len({*x}) == 1 for x in sentences)
            ),
            f"words in {word} have spaces. Separate columns by spaces or by "
            "tabs, not by both: tr ' ' '\\t' < OLD > NEW": (
                longest > 1 and all(map(re.compile(r"\S+ ").match, words))
            ),
            "it is a header. Remove this line": (
                self._has_names and longest > 1 and counts[label] == 1
            ),
            f"{column} has text instead of a label for each word. Choose the "
            f"labels with {of_labels}": (
                2 * sum(" " in x for x in counts) > max(2, len(counts))
            ),
            f"labels of entities are in column {' and '.join(map(str, spans))},"
            f" and not in {column}. Choose with {of_labels}": (
                self._is_default and spans and not self._has_spans(self.column)
            ),
            f"all labels in {column} are the same. Choose with {of_labels}": (
                len(counts) == 1 and not any(map(str.isalnum, label))
            ),
            f"{word} has no letters. Choose the words with {of_words}": (
                len(words) > 10 and letters <= 0.05 * len(words)
            ),
            f"{column} has more different labels than {word} has words. Choose "
            f"them with {of_labels} and {of_words}": (
                len(words) > 50 and len({*labels}) > len({*words})
            ),
        }
        for problem, is_there in problems.items():
            if is_there:
                self._fail(problem)
        if counts[label] == 1 and counts.total() > 1000:
            number = sum(words.count(sentences[0][0]) for words in sentences)
            if number == 1 and not ID.fullmatch(self._row[0]):
                what = f"'{self._path}', line {self._line}: is {self._row} a "
                warnings.warn(f"{what}header? Then remove it.", stacklevel=4)
        return spans

    def _values(self, column):
        """Returns what is in a column, in the first rows."""
        rows = (row for row in self._sample if len(row) >= column)
        return [row[column - 1].strip() for row in rows]

    def _has_spans(self, column):
        values = {*self._values(column)} - {"O"}
        return values and all(map(text_kinds.LABEL.fullmatch, values))

    def _fail(self, what, line=None, row=None):
        raise ValueError(
            f"'{self._path}', line {line or self._line}: {what}. "
            f"Received: {row or self._row}"
        )


def _is_counted(words):
    """Whether words are 1, 2, 3, ..., or such with ranges as in CoNLL-U."""
    if words[0][0] not in "01" or not all(map(ID.fullmatch, words)):
        return False
    numbers = [int(x) for x in words if x.isdecimal()]
    return numbers == [*range(numbers[0], numbers[0] + len(numbers))]
