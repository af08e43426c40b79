"""CoNLL-U, and what it shares with other files of columns."""

import functools
import re

from keras_elmo.text.text_kinds import find_kind

COLUMNS = ["ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL"]
COLUMNS += ["DEPS", "MISC"]

# The ID of a word, a multiword token or an empty node.
ID = re.compile(r"[0-9]+([-.][0-9]+)?")
# The first line of CoNLL-U Plus.
_PLUS = re.compile(rb"#\s*global\.columns\s*=(.*)")


def parser(file):
    """Returns how the rows of a `TextFile` of CoNLL-U are read.

    Returns:
        A function from a line and its number to its columns or `None`, and the
        columns of the words and labels, from 1. The labels are UPOS or, in
        CoNLL-U Plus, the last column that CoNLL-U does not have.
    """
    match = _PLUS.match(file.start)
    names = match[1].decode().upper().split() if match else []
    if "FORM" not in names:
        names = COLUMNS
    more = [x for x in names if x not in COLUMNS]
    is_plus = more and find_kind(file.path).format != "conllu"
    label = more[-1] if is_plus else "UPOS"
    parse = functools.partial(parse_row, file.path)
    if "ID" not in names:  # In CoNLL-U Plus, it may be left out.
        parse = _parse_row_without_id
    # If there is no UPOS, its column is one too many.
    column = [*names, label].index(label) + 1
    return parse, names.index("FORM") + 1, column


def blocks_of_rows(lines, parse):
    """Yields the rows of each block of lines, between empty lines.

    Args:
        lines: Iterable of strings, with their ends.
        parse: From a line and its number to its columns, or to `None` for a
            line that is no row.

    Returns:
        An iterator of lists of `(number, columns)`. Blocks of lines without
        rows are empty.
    """
    rows, is_block = [], False
    for number, line in enumerate(lines, start=1):
        if line.isspace():
            if is_block:
                yield rows
                rows, is_block = [], False
            continue
        is_block = True
        if columns := parse(line.rstrip("\r\n"), number):
            rows.append((number, columns))
    if is_block:
        yield rows


def parse_row(path, line, number):
    """Returns the columns of a word of CoNLL-U, or `None`."""
    columns = line.split("\t")
    if line.startswith("#"):
        _, is_there, names = line.partition("global.columns =")
        is_right = not is_there or names.upper().split()[:2] == ["ID", "FORM"]
    else:
        is_right = ID.fullmatch(columns[0]) and len(columns) > 1 and columns[1]
    if not is_right:
        raise ValueError(
            f"'{path}' is not CoNLL-U in line {number}: its columns must "
            "be separated by tabs, and the first two be ID and FORM. "
            f"Received: {line!r}"
        )
    return columns if columns[0].isdigit() else None


def _parse_row_without_id(line, _):
    """Returns the columns of a word of CoNLL-U Plus without IDs, or `None`."""
    return None if line.startswith("#") else line.split("\t")
