"""Files with a word in each line: the columns of the words and labels."""

import collections
import functools
import itertools
import re
import warnings

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
# Rows that are looked at.
_SAMPLE = 2000
# A mark of byte order, and marks of direction and width.
_INVISIBLE = "\ufeff\u200b\u200e\u200f"
# What people call columns.
_NAME = re.compile(
    "(word|token|form|text|label|tag|entity|(ne|ner|pos|upos|iob|bio)([-_].*)?)"
    "s?",
    re.IGNORECASE,
)

_WAYS_OUT = {
    text_kinds.JSON: "is JSON. Of annotated text, keras-elmo train-tagger and "
    "evaluate read JSON Lines: a file that ends in .jsonl, with an object in "
    "each line that has a text and its spans",
    text_kinds.COMMAS: "has columns separated by commas. Write tabs instead: "
    "python -c \"import csv, sys; [print(*row, sep='\\t') for row in "
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
    check_kind(file)
    is_conllu, comments = file.kind.format == "conllu", []
    if is_conllu:
        names = conllu.column_names(file.start)
        parse = functools.partial(conllu.parse_row, file.path)
        if "ID" not in names:  # In CoNLL-U Plus, it may be left out.
            parse = conllu.parse_row_without_id
        # A column that CoNLL-U does not have is why a file is CoNLL-U Plus.
        more = [x for x in names if x not in conllu.COLUMNS]
        is_plus = more and not re.search(r"\.conllu(\.gz)?$", file.path)
        label = more[-1] if is_plus else "UPOS"
        column = column or [*names, label].index(label) + 1
        form = names.index("FORM") + 1
    else:
        form = 1
        parse = functools.partial(_parse, file.path, _has_tabs(file), comments)
    blocks = filter(None, conllu.blocks_of_rows(file.lines(), parse))
    # Comments at the start do not say how many columns there are.
    ahead, first = [], None
    while first is None and (rows := next(blocks, None)):
        ahead.append(rows)
        words = (x for x in rows if is_conllu or not _is_marked(x))
        first = next(words, None)
    if first is None:
        raise ValueError(f"'{file.path}' contains no sentences.")
    columns = Columns(file.path, *first, column, word_column, form)
    sentences, longest = [], 0
    lone = []  # Words that may be comments: a sentence, and an index in it.
    for rows in itertools.chain(ahead, blocks):
        if not is_conllu and _is_marked(rows[0]):
            marked = [*itertools.takewhile(_is_marked, rows)]
            words = [x for x in marked if columns.are_in(x[1])]
            others = (x for x in marked if not columns.are_in(x[1]))
            comments += (line for line, _ in others)
            # A hash tag is a word, but a lone `#` may begin a comment.
            lone += (
                (len(sentences), i)
                for i, (_, row) in enumerate(words)
                if not row[0].strip("#")
            )
            rows = words + rows[len(marked) :]
            if not rows:
                continue
        words, tags = columns.pick(rows)
        if len(words) > _LONG > longest:
            warnings.warn(
                f"'{file.path}', line {rows[0][0]}: a sentence of "
                f"{len(words):,} words begins here. Is there an empty line "
                "after each sentence?",
                stacklevel=3,
            )
        longest = max(longest, len(words))
        lines = range(rows[0][0], rows[-1][0] + 1)
        if len(lines) != len(rows):
            lines = [line for line, _ in rows]
        kept = keep_columns and [columns.with_label_last(x) for _, x in rows]
        sentences.append(Sentence("", words, (), tags, lines, kept or ()))
    counts = collections.Counter(
        itertools.chain.from_iterable(x.tags for x in sentences)
    )
    if left_out := _leave_out(sentences, lone, counts):
        comments += left_out
        warnings.warn(
            f"'{file.path}', line {left_out[0]}: this line is left out as a "
            "comment, because it begins with # and no word has its label. "
            f"There are {len(left_out):,} such lines.",
            stacklevel=3,
        )
    others = columns.check(sentences, counts)
    said = [f"words in column {columns.word_column}"]
    said.append(f"labels in column {columns.column}")
    if others:
        said.append(f"more labels in {', '.join(map(str, others))}")
    if comments:
        first_line = min(comments)
        said.append(
            f"{len(comments):,} comments, the first in line {first_line}"
        )
    return sentences, said


def check_kind(file):
    """Raises `ValueError` if a `TextFile` has no columns."""
    kind, (first, *_) = file.kind.looks_like, file.start.splitlines() or [b""]
    is_csv = re.search(r"\.csv(\.gz)?$", file.path) and b"," in first
    if is_csv and b"\t" not in first:
        kind = text_kinds.COMMAS
    elif kind == text_kinds.COMMAS:
        # Columns that spaces separate may have commas.
        numbers = [len(row.split()) for row in file.start.splitlines()]
        kind = kind if 2 * numbers.count(1) > len(numbers) else None
    if kind in _WAYS_OUT:
        raise ValueError(
            "A labelled file must have a word and its label in each line, "
            f"separated by a tab or spaces, but '{file.path}' {_WAYS_OUT[kind]}"
        )


def _has_tabs(file):
    """Whether most rows at the start of a `TextFile` have a tab."""
    rows = [x for x in file.start.splitlines() if x.strip()]
    rows = [x for x in rows if x[:1] != b"#"] or rows
    return 2 * sum(b"\t" in row for row in rows) > len(rows)


def _parse(path, has_tabs, comments, line, number):
    """Returns the columns of a line, or `None`; adds to a list of comments."""
    columns = line.split("\t") if has_tabs else TOKEN.findall(line)
    if columns[0] in _NO_WORDS:
        return None
    if len(columns) > 1 or not has_tabs:
        return columns
    if line.startswith("#"):
        comments.append(number)
    elif line.split()[0] not in _NO_WORDS:
        raise ValueError(
            f"'{path}', line {number}: expected a tab between columns, as in "
            f"most lines. Received: {_shortened(repr(line))}"
        )
    return None


def _is_marked(row):
    return row[1][0].startswith("#")


def _leave_out(sentences, indices, counts):
    """Leaves out comments with as many columns as words; returns their lines.

    Args:
        sentences: List of `Sentence`s, which is changed.
        indices: List of pairs, the index of a sentence and of a word in it.
            Words whose label no other word has are comments.
        counts: `collections.Counter` of the labels, which is changed as well.
    """
    marked = collections.Counter(sentences[i].tags[j] for i, j in indices)
    labels = {x for x in marked if marked[x] == counts[x]}
    labels = {x for x in labels if not text_kinds.LABEL.fullmatch(x)}
    lines = []
    for i, j in reversed(indices):
        x = sentences[i]
        if x.tags[j] in labels:
            lines.append(x.lines[j])
            for name in ("tokens", "tags", "lines", "columns"):
                part = getattr(x, name)
                setattr(x, name, [*part[:j], *part[j + 1 :]])
    for label in labels:
        del counts[label]
    if lines:
        sentences[:] = [x for x in sentences if x.tokens]
    return lines[::-1]


class Columns:
    """The columns of a file.

    Args:
        path: The file's name in messages.
        line: Integer, the line of the first word.
        row: List of strings, the columns in it.
        column: Integer, the column of the labels, or `None` for the last one.
        word_column: Integer, the column of the words, or `None`.
        form: Integer, the default of `word_column`.

    Raises:
        ValueError: If there are no such columns.
    """

    def __init__(self, path, line, row, column, word_column, form):
        check_integer("column", column, 1, optional=True)
        check_integer("word_column", word_column, 1, optional=True)
        self._path, self._line, self._row = path, line, row
        # If each line ends in a tab, it is no column.
        self._used = max(i for i, x in enumerate(row, start=1) if x.strip())
        self._is_exact = column is not None or self._used == len(row)
        self._has_names = sum(map(bool, map(_NAME.fullmatch, row))) > 1
        self._numbers = {len(row)} if self._is_exact else set()
        self._are_given = column is not None, word_column is not None
        self._sample: list[list[list[str]]] = []
        self._sample_size = 0
        self.column, self.word_column = (
            column or self._used,
            word_column or form,
        )
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
        if self._sample_size < _SAMPLE:
            # Some that begin with `#` are found to be comments later.
            some = [row for _, row in rows if row[0][:1] != "#"]
            self._sample.append(some)
            self._sample_size += len(some)
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

    def check(self, sentences, counts):
        """Raises `ValueError` if a column has something else.

        Args:
            sentences: List of `Sentence`s.
            counts: Dictionary from labels to their numbers.

        Returns:
            List of other columns that have labels of entities.
        """
        longest = max(len(x.tokens) for x in sentences)
        label = self._row[self.column - 1].strip()
        if self._has_names and longest > 1 and counts[label] == 1:
            self._fail("it is a header. Remove this line")
        self._check_spaces(longest)
        used = range(1, self._used + 1)
        contents = {i: self._content(i) for i in used}
        places = self.word_column, self.column
        spans = [i for i in used if contents[i] == _ENTITIES]
        spans = [i for i in spans if i not in places]
        is_given, words_are_given = self._are_given
        words, labels = (contents.get(i, _EMPTY) for i in places)
        wrong = []
        if not words_are_given and (
            words in (_EMPTY, _COUNTS, _NUMBERS, _ENTITIES)
            or (words in (_ONE, _SAME) and longest > 2)
        ):
            wrong.append(f"words in column {self.word_column}")
        if (
            labels == _PHRASES
            or (len(counts) == 1 and not any(map(str.isalnum, label)))
            or (not is_given and labels == _COUNTS)
            or (not is_given and spans and labels != _ENTITIES)
            or self._has_fewer_words()
        ):
            wrong.append(f"labels in column {self.column}")
        if wrong:
            shown = [
                f"column {i}: {', '.join(self._examples(i))} ({content})"
                for i, content in contents.items()
            ]
            flags = map(argument_name, ("word_column", "column"))
            self._fail(
                f"expected {' and '.join(wrong)}, but found {'; '.join(shown)}."
                f" Choose with {' and '.join(flags)}"
            )
        if counts[label] == 1 and counts.total() > 1000:
            word = sentences[0].tokens[0]
            number = sum(x.tokens.count(word) for x in sentences)
            if number == 1 and not conllu.ID.fullmatch(self._row[0]):
                what = f"'{self._path}', line {self._line}: is {self._row} a "
                warnings.warn(f"{what}header? Then remove it.", stacklevel=4)
        return spans

    def _check_spaces(self, longest):
        """Raises `ValueError` if all words have spaces."""
        words, labels = map(self._values, (self.word_column, self.column))
        if not all(map(re.compile(r"\S+ ").match, words)):
            return
        if all(len(x.split()) == len(y.split()) for x, y in zip(words, labels)):
            self._fail(_SENTENCES)
        if longest > 1:
            self._fail(
                f"words in column {self.word_column} have spaces. Separate "
                "columns by spaces or by tabs, not by both: tr ' ' '\\t' < OLD "
                "> NEW"
            )

    def _content(self, column):
        """Returns what a column contains, as a message says it."""
        sentences = [self._values(column, [rows]) for rows in self._sample]
        sentences = [*filter(None, sentences)]
        values = [*itertools.chain(*sentences)]
        distinct = {*values}
        if not any(distinct):
            return _EMPTY
        if all(map(_is_counted, sentences)) and len(sentences) < len(values):
            return _COUNTS
        if len(distinct) == 1:
            return _ONE
        if all(map(text_kinds.LABEL.fullmatch, distinct - {"O"})):
            return _ENTITIES
        if all(len({*x}) == 1 for x in sentences) and len(sentences) < len(
            values
        ):
            return _SAME
        letters = sum(any(map(str.isalpha, x)) for x in values)
        if len(values) > 10 and letters <= 0.05 * len(values):
            return _NUMBERS
        if 2 * sum(" " in x for x in distinct) > max(2, len(distinct)):
            return _PHRASES
        return _LABELS if len(distinct) ** 2 < 2 * len(values) else _TEXT

    def _has_fewer_words(self):
        """Whether there are fewer different words than labels."""
        words, labels = map(self._values, (self.word_column, self.column))
        return len(words) > 50 and len({*labels}) > len({*words})

    def _examples(self, column):
        """Returns the first different values of a column."""
        values = dict.fromkeys(self._values(column))
        return [x[:20] or "''" for x in values][:3]

    def _values(self, column, blocks=None):
        """Returns what is in a column, in the first rows."""
        rows = itertools.chain.from_iterable(blocks or self._sample)
        return [x[column - 1].strip() for x in rows if len(x) >= column]

    def _fail(self, what, line=None, row=None):
        raise ValueError(
            f"'{self._path}', line {line or self._line}: {what}. "
            f"Received: {_shortened(str(row or self._row))}"
        )


def _shortened(text):
    return text if len(text) < 300 else f"{text[:300]}..."


def _is_counted(words):
    """Whether words are 1, 2, 3, ..., or such with ranges as in CoNLL-U."""
    if not all(map(conllu.ID.fullmatch, words)):
        return False
    numbers = [int(x) for x in words if x.isdecimal()]
    if not numbers:  # In WebAnno's files, the sentence stands before: 3-1, 3-2.
        numbers = [int(re.split("[-.]", x)[1]) for x in words]
    first = numbers[0]
    return first < 2 and numbers == [*range(first, first + len(numbers))]
