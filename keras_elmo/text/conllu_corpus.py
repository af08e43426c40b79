"""Reads the tokens of annotated sentences from CoNLL-U files."""

import re

# The ID of a word, a multiword token or an empty node.
_ID = re.compile("[0-9]{1,18}([-.][0-9]{1,18})?")


def import_conllu():
    """Imports and returns the optional package `conllu`."""
    try:
        import conllu
    except ImportError as error:
        raise ImportError(
            "To read CoNLL-U, the package 'conllu' is needed: "
            "pip install conllu"
        ) from error
    return conllu


class _RecentLines:
    """Lines for `conllu.parse_incr`; keeps those of the current sentence."""

    read = None  # Makes parse_incr accept it as a file.

    def __init__(self, lines):
        self.recent = []
        self._lines = lines

    def __iter__(self):
        for numbered in enumerate(self._lines, start=1):
            self.recent.append(numbered)
            yield f"{numbered[1]}\n"


def read_conllu(lines, path, conllu):
    """Yields the tokens of each sentence, from the lines of a file.

    Args:
        lines: Iterable of lines, without their line ends.
        path: The file's name in messages.
        conllu: The package.

    Raises:
        ValueError: If a line is not CoNLL-U.
    """
    file = _RecentLines(lines)
    try:
        for tokens in _parse(file, conllu):
            yield tokens
            file.recent.clear()
    except _conllu_errors(conllu) as error:
        number, line = next(
            (found for found in file.recent if _is_bad(found[1], conllu)),
            file.recent[0],
        )
        raise ValueError(
            f"'{path}' is not CoNLL-U in line {number}: {error!r} "
            f"Received: {line!r}"
        ) from error


def _parse(file, conllu):
    def is_word(fields, column):
        word_id = fields[column]
        # The package accepts "_" and "" as ids, and fails on long numbers.
        if not _ID.fullmatch(word_id):
            raise conllu.exceptions.ParseException("The ID is invalid.")
        first, _, last = word_id.partition("-")
        if last and int(last) < int(first):
            raise conllu.exceptions.ParseException("The range ends too early.")
        return word_id.isdigit()

    def form(fields, column):
        if not fields[column]:
            raise conllu.exceptions.ParseException("The FORM is empty.")
        return fields[column]

    parsers = {"id": is_word, "form": form}
    for sentence in conllu.parse_incr(file, ("id", "form"), parsers):
        yield [token["form"] for token in sentence if token["id"]]


def _is_bad(line, conllu):
    try:
        list(_parse(_RecentLines([line]), conllu))
    except _conllu_errors(conllu):
        return True
    return False


def _conllu_errors(conllu):
    # KeyError if '# global.columns' does not include both ID and FORM.
    return (conllu.exceptions.ParseException, KeyError)
