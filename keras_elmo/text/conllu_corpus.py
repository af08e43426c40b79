"""CoNLL-U: the tokens of sentences that are annotated."""


def import_conllu():
    """Returns the package `conllu`, which may not be installed."""
    try:
        import conllu
    except ImportError as error:
        raise ImportError(
            "To read CoNLL-U, the package 'conllu' is needed: "
            "pip install conllu"
        ) from error
    return conllu


class _RecentLines:
    """Lines for `conllu.parse_incr`, those of the current sentence kept."""

    read = None  # Without, parse_incr does not take it for a file.

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
        lines: Iterable of lines, without their ends.
        path: What messages call the file.
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
    for sentence in conllu.parse_incr(file, fields=("id", "form")):
        # The ids of ranges and empty nodes are tuples.
        words = [t for t in sentence if not isinstance(t["id"], tuple)]
        yield [word["form"] for word in words]


def _is_bad(line, conllu):
    try:
        list(_parse(_RecentLines([line]), conllu))
    except _conllu_errors(conllu):
        return True
    return False


def _conllu_errors(conllu):
    # The second where '# global.columns' names neither ID nor FORM.
    return (conllu.exceptions.ParseException, KeyError)
