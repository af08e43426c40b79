"""Tagged sentences: words and their labels, read from a file of columns."""

import functools
import os

from keras_elmo.checks import check_integer
from keras_elmo.text.corpora import TOKEN
from keras_elmo.text.corpora import blocks_of_rows
from keras_elmo.text.corpora import check_file
from keras_elmo.text.corpora import checked_lines
from keras_elmo.text.corpora import parse_conllu
from keras_elmo.text.text_kinds import guess_format

_UPOS = 4
# CoNLL-2003 has it between documents, in the column of the words.
_DOCUMENT = "-DOCSTART-"


def read_conll(
    path: str | os.PathLike, column: int | None = None
) -> tuple[list[list[str]], list[list[str]]]:
    r"""Reads tagged sentences from a file in CoNLL or CoNLL-U format.

    In CoNLL format, each line has a word in its first column and a label in
    another one, and an empty line ends a sentence. Columns are separated by
    tabs or, in a line without tabs, by spaces. Each line has as many as the
    first. Lines of `-DOCSTART-` are left out.

    Args:
        path: Path of the file, in UTF-8, plain or gzip. If it ends in `.conllu`
            or `.conllu.gz`, it is CoNLL-U.
        column: Integer, the column of the labels, from 1. By default, it is the
            last one or, in CoNLL-U, the fourth, UPOS.

    Returns:
        A tuple `(sentences, tags)`: for each sentence its list of words, and
        the list of their labels.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not as described; the message has the line.

    Example:

    >>> from keras_elmo.text import read_conll
    >>> with open("train.conll", "w") as file:
    ...     _ = file.write("Ann B-PER\nslept O\n\nHello O\n")
    >>> read_conll("train.conll")
    ([['Ann', 'slept'], ['Hello']], [['B-PER', 'O'], ['O']])
    """
    check_integer("column", column, 2, optional=True)
    path = os.fspath(path)
    check_file(path, "CoNLL")
    is_conllu = guess_format(path) == "conllu"
    parse = functools.partial(parse_conllu, path) if is_conllu else _columns
    lines = map(bytes.decode, checked_lines(path))
    sentences, tags, width = [], [], 0
    for rows in filter(None, blocks_of_rows(lines, parse)):
        width = width or len(rows[0][1])
        place = column or (_UPOS if is_conllu else width)
        for number, columns in rows:
            if len(columns) != width or not 1 < place <= width:
                raise ValueError(
                    f"'{path}', line {number}: expected {max(2, width)} columns"
                    f", as in the first row, with the label in column {place}, "
                    "not the first; a comment must be removed. Received: "
                    f"{len(columns)} columns, {columns}"
                )
        sentences.append([columns[is_conllu] for _, columns in rows])
        tags.append([columns[place - 1] for _, columns in rows])
    if not sentences:
        raise ValueError(f"'{path}' contains no sentences.")
    return sentences, tags


def _columns(line, _):
    columns = line.split("\t") if "\t" in line else TOKEN.findall(line)
    return None if columns[0] == _DOCUMENT else columns
