"""What a file is that is given as text, by its name and its first bytes."""

import re
from typing import NamedTuple

from keras_elmo.choices import LABELLED

# How many bytes are looked at.
BEGINNING = 8192

# A label in a scheme of entities. A type may have spaces.
LABEL = re.compile("[BIESLUM]-.+|[BIO]")


class TextKind(NamedTuple):
    """What a file is."""

    format: str
    """How it is read: `"text"`, `"conllu"`, `"conll"` (columns with labels) or
    `"jsonl"` (annotated text)"""
    looks_like: str | None
    """What no text looks like, such as `"JSON"`; or `None`"""


# The ends of names, plain or gzip.
_NAMES = {
    "conllu": re.compile(r"\.conllu(\.gz)?$"),
    "jsonl": re.compile(r"\.jsonl?(\.gz)?$"),
    LABELLED: re.compile(r"\.(conll|iob2|bio|tsv)(\.gz)?$"),
}

_CONVERT = "it is {0}: convert it with `iconv -f {0} -t UTF-8 OLD > NEW`".format
_BINARY = {
    # First, because the other mark is the beginning of this one.
    rb"\xff\xfe\0\0|\0\0\xfe\xff": _CONVERT("UTF-32"),
    rb"\xff\xfe|\xfe\xff": _CONVERT("UTF-16"),
    rb"\x89HDF": "it is HDF5, as the weights of a model are",
    rb"PK\x03\x04": "it is a zip archive, as .docx files are: unpack it",
    rb"%PDF": "it is a PDF: write its text to a file",
    rb"[^\0]*\0": "it has NUL bytes, as binary files have. If it is a text of "
    "Windows, convert it with `iconv -f UTF-16LE -t UTF-8 OLD > NEW`",
}

JSON = "JSON"
CR = "lines that end in CR alone"
CONLLU = "CoNLL-U"
COMMAS = "columns separated by commas or semicolons"
TABS = "columns separated by tabs"
LABELS = "words with labels"
JOINED = "words with their labels joined to them"
MARKED = "text with <START> and <END> around entities"
STANDOFF = "places of entities in another file, as brat writes them"

# The first word of a file of ten columns: ID, FORM, ..., HEAD and three others.
_CONLLU = re.compile(
    rb"#\s*global\.columns\s*=|(#.*\n|[ \t\r]*\n)*(1|1-[0-9]+|0\.1)\t[^\t\n]+"
    rb"(\t[^\t\n]*){4}\t(_|[0-9]+)(\t[^\t\n]*){3}(\n|$)"
)
# JSON, or a list of tuples in Python.
_JSON = re.compile(
    rb'\s*(\[\s*)?\{\s*"[^"\n]*"\s*:|\s*[\[{]\s*([\[{]|\n)|\s*\[\s*\(\s*["\']'
)
# In a sentence, white space follows a comma, and no line ends in a label.
_COLUMNS = {
    TABS: rb"(?<=\S)\t+",
    COMMAS: rb"[,;](?=\S)",
    LABELS: rb"(?<=\S) +(?=(\S+ +){0,9}([A-Z$]{1,5}|"
    rb"([BIESLUMbieslum]|[A-Z]+)[-_]\S+)$)",
}
# What a whole line is.
_LINES = {
    JOINED: re.compile(
        rb"(\s*([^\s|]+(\|[^\s|]+)+|\S+[/_][A-Z.,:$]\S*)(\s+|$)){2,}"
    ),
    MARKED: re.compile(rb".*<START(:\S+)?>\s.*\s<END>(\s.*)?"),
    STANDOFF: re.compile(rb"(T[0-9]+\t\S+ [0-9; ]+|[REANM#][0-9]+)\t.*"),
}


def find_kind(path, start=b""):
    """Returns the `TextKind` of a file, by its name and its first bytes."""
    start = start.removeprefix(b"\xef\xbb\xbf")[:BEGINNING]
    by_name = next((x for x, y in _NAMES.items() if y.search(path)), None)
    if by_name == "conllu" or _CONLLU.match(start):
        is_plus = start.startswith(b"#") and b"global.columns" in start[:99]
        is_known = by_name == "conllu" or is_plus
        return TextKind("conllu", None if is_known else CONLLU)
    looks_like = _describe(start)
    # Without an empty line, each line may be a sentence.
    has_ends = re.search(rb"\S[^\S\n]*\n[^\S\n]*\n\s*\S", start)
    is_labelled = looks_like in (LABELS, TABS) and has_ends
    by_content = LABELLED if is_labelled else "text"
    return TextKind(by_name or by_content, looks_like)


def refuse_binary(start, path):
    """Raises `ValueError` if a file is certainly not text in UTF-8.

    Args:
        start: Its first bytes.
        path: Its name in messages.
    """
    for mark, what in _BINARY.items():
        if re.match(mark, start):
            raise ValueError(f"'{path}' must be text in UTF-8, but {what}.")


def _describe(start):
    """Describes what is likely no sentences; or `None`."""
    if b"\r" in start.strip() and b"\n" not in start:
        return CR
    if _JSON.match(start):
        return JSON
    rows = start.splitlines()
    if len(start) == BEGINNING:  # The last one may be cut off.
        del rows[-1]
    rows = [row for row in rows if re.match(rb"\s*[^\s#]", row)]
    for name, line in _LINES.items():
        if sum(map(bool, map(line.fullmatch, rows))) > 0.7 * len(rows):
            return name
    for name, separator in _COLUMNS.items():
        numbers = [len(re.findall(separator, row)) for row in rows]
        equal = max(map(numbers.count, {*numbers} - {0}), default=0)
        if equal > max(2, 0.7 * len(rows)):
            return name
    return None
