"""Tagged sentences: words and their labels, read from a file of columns."""

import collections
import functools
import itertools
import os
import warnings
from typing import NamedTuple

from keras_elmo.text.columns import CONLLU_COLUMNS
from keras_elmo.text.columns import Columns
from keras_elmo.text.columns import check_kind
from keras_elmo.text.columns import conllu_columns
from keras_elmo.text.corpora import TOKEN
from keras_elmo.text.corpora import beginning
from keras_elmo.text.corpora import blocks_of_rows
from keras_elmo.text.corpora import check_file
from keras_elmo.text.corpora import checked_lines
from keras_elmo.text.corpora import parse_conllu
from keras_elmo.text.text_kinds import CONLLU
from keras_elmo.text.text_kinds import LABEL
from keras_elmo.text.text_kinds import guess_format

# CoNLL-2003 has the first between documents, in the column of the words. The
# other is the byte order mark of a file that was added to another.
_NO_WORDS = "-DOCSTART-", "\ufeff"
# Words of a sentence, above which its end was probably not found.
_LONG = 1000


class TaggedText(NamedTuple):
    """The tagged sentences of a file, and where they are in it."""

    path: str
    """Its path, for messages"""
    sentences: list[list[str]]
    tags: list[list[str]]
    lines: list[list[int]]
    """The line of each word, from 1"""
    rows: list[list[list[str]]]
    """All columns of each word, with the label last, if asked for"""
    how: list[str]
    """How they were read, such as the columns"""

    def add(self, *parts):
        """Adds a sentence: its words, tags, lines and, if asked for, rows."""
        for sentences, part in zip(self[1:], parts):
            sentences.append(part)

    def line_of(self, label):
        """Returns the line of the first word with a label."""
        labels, lines = map(itertools.chain.from_iterable, self[2:4])
        return next(line for x, line in zip(labels, lines) if x == label)

    def counts(self):
        """Returns how many words have each label, a `collections.Counter`."""
        return collections.Counter(itertools.chain.from_iterable(self.tags))


def read_conll(
    path: str | os.PathLike,
    column: int | None = None,
    word_column: int | None = None,
) -> tuple[list[list[str]], list[list[str]]]:
    r"""Reads tagged sentences from a file in CoNLL or CoNLL-U format.

    In CoNLL format, each line has a word and its label in two of its columns,
    and an empty line ends a sentence. Columns are separated by tabs or, in a
    line without tabs, by spaces. White space around them is left out, and so
    are lines of `-DOCSTART-`. Each line has as many columns as the first.
    Lines that begin with `#` before a sentence are comments if they have
    another number of columns, or if their first column is a lone `#` and no
    other word has their label.

    Args:
        path: Path of the file, in UTF-8, plain or gzip. If it ends in `.conllu`
            or `.conllu.gz`, it is CoNLL-U. If it begins with
            `# global.columns =`, it is CoNLL-U Plus.
        column: Integer, the column of the labels, from 1. By default, it is the
            last one or, in CoNLL-U, the fourth, UPOS. In CoNLL-U Plus, it is
            the last one that CoNLL-U does not have.
        word_column: Integer, the column of the words, from 1. By default, it is
            the first or, in CoNLL-U and CoNLL-U Plus, FORM.

    Returns:
        A tuple `(sentences, tags)`: for each sentence its list of words, and
        the list of their labels.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not as described, or if a column seems to
            contain something else, such as the numbers of the words. The
            message has the line, and says what to do.

    Example:

    >>> from keras_elmo.text import read_conll
    >>> with open("train.conll", "w") as file:
    ...     _ = file.write("Ann B-PER\nslept O\n\nHello O\n")
    >>> read_conll("train.conll")
    ([['Ann', 'slept'], ['Hello']], [['B-PER', 'O'], ['O']])
    """
    path = os.fspath(path)
    check_file(path, "CoNLL")
    text = read_columns(path, column, word_column)
    return text.sentences, text.tags


def read_columns(path, column=None, word_column=None, keep_rows=False):
    """Reads a file as `read_conll` does; returns a `TaggedText`.

    Args:
        path: As for `read_conll`, or `"-"` for standard input.
        column: As for `read_conll`.
        word_column: As for `read_conll`.
        keep_rows: Boolean, whether to keep all columns of each word.
    """
    start = beginning(path)
    check_kind(path, start)
    is_conllu, parse = guess_format(path, start) == "conllu", _columns
    if is_conllu:
        names = conllu_columns(start)
        parse = functools.partial(parse_conllu, path)
        if "ID" not in names:  # In CoNLL-U Plus, it may be left out.
            parse = _columns_of_plus
        # A column that CoNLL-U does not have is why a file is CoNLL-U Plus.
        more = [x for x in names if x not in CONLLU_COLUMNS]
        label = "UPOS" if path.endswith(CONLLU) or not more else more[-1]
        column = column or [*names, label].index(label) + 1
        word_column = word_column or names.index("FORM") + 1
    lines = map(bytes.decode, checked_lines(path))
    blocks = filter(None, blocks_of_rows(lines, parse))
    # Comments at the start do not say how many columns there are.
    ahead, first = [], None
    while first is None and (rows := next(blocks, None)):
        ahead.append(rows)
        words = (x for x in rows if is_conllu or not _is_marked(x))
        first = next(words, None)
    if first is None:
        raise ValueError(f"'{path}' contains no sentences.")
    columns = Columns(path, *first, column, word_column)
    text = TaggedText(path, [], [], [], [], [])
    comments, lone = [], []
    for rows in itertools.chain(ahead, blocks):
        if not is_conllu and _is_marked(rows[0]):
            marked = [*itertools.takewhile(_is_marked, rows)]
            words = [x for x in marked if columns.are_in(x[1])]
            comments += [
                line for line, row in marked if not columns.are_in(row)
            ]
            # A hash tag is a word, but a lone `#` may begin a comment.
            lone += [
                (len(text.sentences), j)
                for j, (_, row) in enumerate(words)
                if not row[0].strip("#")
            ]
            rows = words + rows[len(marked) :]
        if not rows:
            continue
        words, tags = columns.pick(rows)
        if len(words) > _LONG > max(map(len, text.sentences), default=0):
            warnings.warn(
                f"'{path}', line {rows[0][0]}: a sentence of {len(words):,} "
                "words begins here. Is there an empty line after each "
                "sentence?",
                stacklevel=3,
            )
        lines = range(rows[0][0], rows[-1][0] + 1)
        if len(lines) != len(rows):
            lines = [line for line, _ in rows]
        text.add(words, tags, lines)
        if keep_rows:
            text.rows.append([columns.with_label_last(row) for _, row in rows])
    counts = text.counts()
    comments += _leave_out(text, lone, counts)
    others = columns.check(text.sentences, counts, bool(word_column))
    text.how.append(f"words in column {columns.word_column}")
    text.how.append(f"labels in column {columns.column}")
    if others:
        text.how.append(f"more labels in {', '.join(map(str, others))}")
    if comments:
        told = f"{len(comments):,} comments, the first in line {min(comments)}"
        text.how.append(told)
    return text


def _columns(line, _):
    columns = line.split("\t") if "\t" in line else TOKEN.findall(line)
    return None if columns[0] in _NO_WORDS else columns


def _columns_of_plus(line, _):
    return None if line.startswith("#") else line.split("\t")


def _is_marked(row):
    return row[1][0].startswith("#")


def _leave_out(text, indices, counts):
    """Leaves out comments with as many columns as words; returns their lines.

    Args:
        text: A `TaggedText`.
        indices: List of pairs, the index of a sentence and of a word in it.
            Words whose label no other word has are comments.
        counts: `collections.Counter` of the labels, which is changed as well.
    """
    marked = collections.Counter(text.tags[i][j] for i, j in indices)
    labels = {x for x in marked if marked[x] == counts[x]}
    labels = {x for x in labels if not LABEL.fullmatch(x)}
    lines = []
    for i, j in reversed(indices):
        if text.tags[i][j] in labels:
            lines.append(text.lines[i][j])
            for part in filter(None, text[1:5]):
                part[i] = [*part[i][:j], *part[i][j + 1 :]]
                part[i : i + 1] = filter(None, [part[i]])
    for label in labels:
        del counts[label]
    return lines
