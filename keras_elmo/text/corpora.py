"""Corpora: sentences as tokens, read from a file one at a time."""

import functools
import os
import re
import warnings
from collections.abc import Iterable
from collections.abc import Iterator

from keras_elmo.checks import check_choice
from keras_elmo.choices import CORPUS_FORMATS
from keras_elmo.choices import STANDARD_STREAM
from keras_elmo.text.conllu import blocks_of_rows
from keras_elmo.text.conllu import parse_row
from keras_elmo.text.raw_text import read_raw
from keras_elmo.text.sentences import Sentence
from keras_elmo.text.text_files import TextFile
from keras_elmo.text.text_files import check_file
from keras_elmo.text.text_kinds import CR

# ASCII's white space parts tokens, as in `bytes.split` and `tf.strings.split`.
TOKEN = re.compile(r"[^ \t\n\r\v\f]+")


def read_corpus(
    path: str | os.PathLike, format: str | None = None, language: str = "en"
) -> Iterator[Sentence]:
    r"""Reads a corpus of any size, sentence by sentence.

    The file has one of three formats:

    - `"text"`: one sentence per line, with tokens separated by spaces, tabs or
      other white space of ASCII. Only `"\n"` and `"\r\n"` end a line. An empty
      line is a sentence without tokens.
    - `"conllu"`: the FORM column of
      [CoNLL-U](https://universaldependencies.org/format.html) or CoNLL-U Plus.
      Multiword-token ranges and empty nodes are left out.
    - `"raw"`: text as people write it. Each line is divided into sentences and
      tokens as by `tokenize`: `"They can't."` becomes `["They", "ca", "n't",
      "."]`.

    All are UTF-8, with or without a byte order mark, plain or gzip.

    Args:
        path: Path of the file, or `"-"` for standard input.
        format: `"text"`, `"conllu"` or `"raw"`. By default, it is CoNLL-U if
            the file's name ends in `.conllu` or `.conllu.gz`, or if the file
            begins like CoNLL-U; all others are text. Text that begins like
            JSON or a table causes a warning, unless `format="text"` is given.
        language: String, the language of raw text, as for `tokenize`. By
            default, English.

    Returns:
        An iterator of objects: `tokens` is the list of a sentence's tokens, and
        `text` its line, or the tokens joined by spaces if a line of the file is
        not a sentence.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If an argument is invalid or the file is binary; or, also
            while reading, if it is not UTF-8, a gzip file is corrupt or
            truncated, or a line is not CoNLL-U.
        ImportError: If raw text is read and spaCy is not installed.

    Example:

    >>> from keras_elmo.text import read_corpus
    >>> with open("corpus.txt", "w") as file:
    ...     _ = file.write("First sentence .\n\nAnother .\n")
    >>> for sentence in read_corpus("corpus.txt"):
    ...     print(sentence.tokens)
    ['First', 'sentence', '.']
    []
    ['Another', '.']
    """
    path = os.fspath(path)
    check_choice("format", format, (None, *CORPUS_FORMATS))
    if path != STANDARD_STREAM:
        check_file(path)
    sentences = read_sentences(TextFile(path), format, language)
    return joined_words(sentences) if format == "raw" else sentences


def read_sentences(file, format=None, language="en"):
    """Yields the `Sentence`s of a `TextFile`, as `read_corpus` does.

    Of raw text, they have their `starts`, and a line without words is one
    without tokens, so that all texts, joined, are the text of the file.
    """
    warn_of_kind(file, format)
    format = format or corpus_format(file)
    if format == "raw":
        return read_raw(file.lines(), language)
    if format == "conllu":
        return _conllu(file)
    return text_sentences(file.lines())


def joined_words(sentences):
    """Yields `Sentence`s whose texts are their words, without empty ones."""
    for sentence in sentences:
        if tokens := sentence.tokens:
            yield Sentence(" ".join(tokens), tokens)


def text_lines(path, on_read=None):
    """Returns an iterator of a text's lines, as bytes with their ends.

    They are checked as by `read_corpus`. Of CoNLL-U, a line is the words of a
    sentence. `on_read` is as for `open_unpacked`.
    """
    file = TextFile(path, on_read)
    warn_of_kind(file)
    if corpus_format(file) == "text":
        return file.byte_lines()
    return (sentence.text.encode() + b"\n" for sentence in _conllu(file))


def corpus_format(file):
    """Returns `"conllu"` or `"text"`, as which a `TextFile` is read."""
    return "conllu" if file.kind.format == "conllu" else "text"


def warn_of_kind(file, format=None):
    """Warns if what is read as sentences looks like something else."""
    looks_like, path = file.kind.looks_like, file.path
    is_conllu = (format or corpus_format(file)) == "conllu"
    if looks_like == CR:
        warnings.warn(
            f"'{path}' has lines that end in CR alone, and is read as one line."
            f" Convert it with: tr '\\r' '\\n' < '{path}'",
            stacklevel=3,
        )
    elif looks_like and not is_conllu and format != "text":
        warnings.warn(
            f"'{path}' looks like {looks_like}. Write its sentences to a file.",
            stacklevel=3,
        )


def text_sentences(lines: Iterable[str]) -> Iterator[Sentence]:
    """Yields the `Sentence` of each line of tokenised text."""
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, str):
            raise ValueError(
                "Each line of a text must be a string (open files in text "
                f"mode). Received as line {number}: {line!r}"
            )
        if number == 1:
            line = line.removeprefix("\ufeff")
        line = line.removesuffix("\n").removesuffix("\r")
        yield Sentence(line, TOKEN.findall(line))


def _conllu(file):
    """Yields the `Sentence` of each block of lines of CoNLL-U."""
    parse = functools.partial(parse_row, file.path)
    for rows in blocks_of_rows(file.lines(), parse):
        tokens = [columns[1] for _, columns in rows]
        yield Sentence(" ".join(tokens), tokens)
