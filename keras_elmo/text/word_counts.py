"""Word counts of a corpus, from which vocabularies are made."""

import collections
import os
from collections.abc import Callable
from collections.abc import Iterable

from keras_elmo.text.corpora import byte_lines
from keras_elmo.text.corpora import byte_words
from keras_elmo.text.corpora import check_file


def count_words(
    paths: Iterable[str | os.PathLike], on_progress: Callable | None = None
) -> tuple[collections.Counter[bytes], int, int]:
    """Counts the words of a corpus in several files, one sentence per line.

    Args:
        paths: Iterable of the files' paths, plain or gzip.
        on_progress: Function that is called regularly with the number of
            sentences and of tokens so far.

    Returns:
        A tuple: a `collections.Counter` of the words (bytes), the number of
        sentences and the number of tokens.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    counts: collections.Counter[bytes] = collections.Counter()
    sentences = tokens = 0
    for path in paths:
        check_file(path)
        for line in byte_lines(os.fspath(path)):
            words = byte_words(line)
            counts.update(words)
            tokens += len(words)
            sentences += 1
            if on_progress is not None and sentences % 10_000 == 0:
                on_progress(sentences, tokens)
    if on_progress is not None:
        on_progress(sentences, tokens)
    return counts, sentences, tokens
