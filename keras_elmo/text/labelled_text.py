"""Labelled files of all kinds: sentences, and a label for each word."""

import collections
import dataclasses
import itertools
import os

from keras_elmo.checks import argument_name
from keras_elmo.text.annotated_text import read_annotated
from keras_elmo.text.columns import read_columns
from keras_elmo.text.sentences import Sentence
from keras_elmo.text.text_files import TextFile
from keras_elmo.text.text_files import check_file


@dataclasses.dataclass
class LabelledText:
    """The sentences of a file, each with words and their labels."""

    path: str
    """Its path, for messages"""
    sentences: list[Sentence]
    reading: list[str]
    """How they were read, such as the columns"""
    unit: str = "line"
    """What the numbers of the sentences' `lines` are of"""

    @property
    def words(self):
        """For each sentence, a list of words."""
        return [x.tokens for x in self.sentences]

    @property
    def tags(self):
        """For each sentence, a list of labels."""
        return [x.tags for x in self.sentences]

    def counts(self):
        """Returns how many words have each label, a `collections.Counter`."""
        return collections.Counter(itertools.chain.from_iterable(self.tags))

    def line_of(self, label):
        """Returns the line of the first word with a label."""
        pairs = ((x.tags, x.lines) for x in self.sentences)
        found = itertools.chain.from_iterable(zip(*pair) for pair in pairs)
        return next(line for x, line in found if x == label)


def read_conll(
    path: str | os.PathLike,
    *,
    column: int | None = None,
    word_column: int | None = None,
) -> tuple[list[list[str]], list[list[str]]]:
    r"""Reads tagged sentences from a file in CoNLL or CoNLL-U format.

    In CoNLL format, each line has a word and its label in two of its columns,
    and an empty line ends a sentence. Columns are separated by tabs if most
    lines have some, else by spaces. White space around them is left out, and so
    are lines of `-DOCSTART-`. Each line has as many columns as the first.
    Lines that begin with `#` before a sentence are comments if they have
    another number of columns, or if their first column is a lone `#` and no
    other word has their label, which causes a warning. Where tabs separate
    columns, all lines that begin with `#` and have no tab are comments.

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
    sentences, _ = read_columns(TextFile(path), column, word_column)
    return [x.tokens for x in sentences], [x.tags for x in sentences]


def read_labelled(path, column=None, word_column=None, language="en"):
    """Reads a file as `read_conll` or, if it is JSON, `read_annotated` does.

    Returns:
        A `LabelledText`.
    """
    check_file(path, "labelled text")
    file = TextFile(path)
    if file.kind.format != "jsonl":
        return LabelledText(path, *read_columns(file, column, word_column))
    if column or word_column:
        flags = map(argument_name, ("column", "word_column"))
        raise ValueError(f"{' and '.join(flags)} are not for .jsonl and .json.")
    return LabelledText(path, *read_annotated(file, language))
