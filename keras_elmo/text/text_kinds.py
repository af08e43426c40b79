"""What a file is that is given as text, by its name and its first bytes."""

import re

# How many bytes are looked at.
BEGINNING = 8192
# The ends of the names of CoNLL-U.
CONLLU = ".conllu", ".conllu.gz"
# The ends of the names of other labelled files.
LABELLED = re.compile(r"\.(conll|iob2|bio|tsv)(\.gz)?$")
# A label in a scheme of entities.
LABEL = re.compile("[BIESLUM]-.+|[BIO]")

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
# The first word of a file of ten columns: ID, FORM, ..., HEAD and three others.
_CONLLU = re.compile(
    rb"#\s*global\.columns\s*=|(#.*\n|[ \t\r]*\n)*(1|1-[0-9]+|0\.1)\t[^\t\n]+"
    rb"(\t[^\t\n]*){4}\t(_|[0-9]+)(\t[^\t\n]*){3}(\n|$)"
)
# In a sentence, white space follows a comma, and no line ends in a label.
_COLUMNS = {
    "columns separated by tabs": rb"(?<=\S)\t+",
    "columns separated by commas or semicolons": rb"[,;](?=\S)",
    "words with labels": rb"(?<=\S) +(?=(\S+ +){0,9}([A-Z$]{1,5}|"
    rb"([BIESLUMbieslum]|[A-Z]+)[-_]\S+)$)",
}


def guess_format(path, start=b""):
    """Returns `"conllu"` or `"text"`, by a file's name and its first bytes."""
    start = start.removeprefix(b"\xef\xbb\xbf")[:BEGINNING]
    return "conllu" if path.endswith(CONLLU) or _CONLLU.match(start) else "text"


def refuse_binary(start, path):
    """Raises `ValueError` if a file is certainly not text in UTF-8.

    Args:
        start: Its first bytes.
        path: Its name in messages.
    """
    for mark, what in _BINARY.items():
        if re.match(mark, start):
            raise ValueError(f"'{path}' must be text in UTF-8, but {what}.")


def describe_columns(start):
    """Describes what is likely no sentences, but a table; or `None`.

    Args:
        start: The first bytes of the text.
    """
    if re.match(rb'\s*(\[\s*)?\{\s*"[^"\n]*"\s*:', start):
        return "JSON"
    rows = start[:BEGINNING].splitlines()[:-1]  # The last one may be cut off.
    rows = [x for x in rows if re.match(rb"\s*[^\s#]", x)]
    for name, separator in _COLUMNS.items():
        numbers = [len(re.findall(separator, row)) for row in rows]
        equal = max(map(numbers.count, {*numbers} - {0}), default=0)
        if equal > max(2, 0.7 * len(rows)):
            return name
    return None


def looks_labelled(start):
    """Whether each line may have a word and its label, by the first bytes."""
    kind = describe_columns(start)
    has_rows = kind and ("labels" in kind or "tabs" in kind)
    has_ends = re.search(rb"\S[^\S\n]*\n[^\S\n]*\n\s*\S", start)
    return bool(has_rows and has_ends)
