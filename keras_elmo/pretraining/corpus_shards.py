"""The shards of a training corpus: its files, one sentence per line."""

import glob
import itertools
import os
import warnings
from collections.abc import Iterable

from keras_elmo.checks import argument_name
from keras_elmo.text.corpora import text_lines
from keras_elmo.text.text_files import check_file
from keras_elmo.text.text_files import checked_lines

_Paths = str | os.PathLike | Iterable[str | os.PathLike]


def find_shards(paths: _Paths) -> list[str]:
    """Finds the files of a corpus.

    Args:
        paths: Path or glob pattern (such as `"corpus/*.txt"`; `**` matches
            folders at any depth), or an iterable of these.

    Returns:
        Sorted list of paths of distinct files: of several paths of one file,
        such as a link to it, the first.

    Raises:
        FileNotFoundError: If a file does not exist or a pattern matches
            nothing.
        ValueError: If a path is a folder.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    found: set[str] = set()
    for path in paths:
        path = os.fspath(path)
        # A file name may look like a pattern.
        literal = os.path.exists(path)
        matches = [path] if literal else glob.glob(path, recursive=True)
        if not matches:
            raise FileNotFoundError(
                f"There is no corpus file '{path}', and no match for it."
            )
        for match in matches:
            check_file(match, hint=f". Its files: '{os.path.join(match, '*')}'")
        found.update(matches)
    # Of several paths of one file, the first.
    paths = sorted(found, reverse=True)
    return sorted({os.path.realpath(path): path for path in paths}.values())


def read_sentences(paths: _Paths) -> list[list[bytes]]:
    """Returns all sentences of a corpus, each a list of words.

    Args:
        paths: As for `find_shards`, which also sets the order of the files.

    Raises:
        FileNotFoundError: As for `find_shards`.
        ValueError: As for `find_shards`, if a line is not UTF-8, or as for
            `check_sentences`, which also warns.
    """
    shards = find_shards(paths)
    sentences = [line.split() for path in shards for line in text_lines(path)]
    check_sentences(len(sentences), sentences.count([]), shards)
    return sentences


def check_held_out(paths, shards):
    """Raises `ValueError` if a held-out file has the text of a shard.

    Args:
        paths: List of paths, as `find_shards` returns it: the held-out text.
        shards: Such a list: the corpus.
    """
    for path, shard in itertools.product(paths, shards):
        lines = map(checked_lines, (path, shard))
        # It stops at the first line that differs.
        if all(
            line.split() == other.split()
            for line, other in itertools.zip_longest(*lines, fillvalue=b"")
        ):
            raise ValueError(
                f"{argument_name('heldout')} must be text that is not trained "
                "on, because it shows how good the model is on new text. "
                f"Received: '{path}', with the same text as '{shard}' of the "
                "corpus"
            )


def check_sentences(number, empty, shards):
    """Checks how many of a text's sentences are empty lines.

    Args:
        number: Integer, the number of sentences.
        empty: Integer, the number of those without words.
        shards: List of the paths of the text, for messages.

    Raises:
        ValueError: If no sentence has words.
    """
    if number == empty:
        what = "only empty lines in" if empty else "empty files"
        raise ValueError(
            "A text must have at least one sentence with words. Received: "
            f"{what} {shards}"
        )
    if empty > number / 10:
        warnings.warn(
            f"{empty / number:.0%} of the lines of the text are empty. Each "
            "counts as a sentence without words, which is easy to predict, so "
            "perplexities are too low. Remove them, for example with: zcat -f "
            f"'{shards[0]}' | grep -v '^[[:space:]]*$'",
            stacklevel=2,
        )
