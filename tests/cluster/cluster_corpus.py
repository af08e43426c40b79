"""A corpus in shards, checks of its vectors, and a thread to kill workers."""

import os
import pathlib
import re
import signal
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from keras_elmo import ElmoEmbedder
from keras_elmo.embedding import read_vectors
from keras_elmo.text.corpora import read_corpus

ODD = [[], None, ["a" * 70, "é"], ["x", None], ["word"] * 5000]
"""Rows as found in corpora: no words, null, overlong words, a null word, and a
long sentence."""


def write_shards(folder, shared, rows, number):
    """Writes sentences, some of them odd, to Parquet files.

    Returns:
        The list of the tokens of all rows, by `id`.
    """
    text = shared / "data/english_lm/heldout.txt"
    sentences = [sentence.tokens for sentence in read_corpus(str(text))]
    tokens = [*ODD, *(sentences[i % len(sentences)] for i in range(rows))][
        :rows
    ]
    folder.mkdir()
    for part in range(number):
        ids = range(part, rows, number)
        table = {
            "id": pa.array(ids),
            "source": [f"line {i}" for i in ids],
            "tokens": pa.array([tokens[i] for i in ids], pa.list_(pa.string())),
        }
        pq.write_table(pa.table(table), folder / f"part{part:02}.parquet")
    return tokens


def check_shards(folder, tokens, elmo):
    """Asserts that every row occurs once, with the embedder's vectors."""
    paths = sorted(folder.glob("*.parquet"))
    assert sorted(folder.iterdir()) == paths  # Nothing half-written is left.
    found = {}
    for path in paths:
        table = pq.read_table(path, columns=["id", "source", "tokens"])
        for row in table.to_pylist():
            assert row["source"] == f"line {row['id']}"
            assert row["tokens"] == tokens[row["id"]]
        for key, vectors in read_vectors(path):
            assert key not in found
            found[key] = vectors
    assert sorted(found) == list(range(len(tokens)))
    check_vectors(found, tokens, elmo)


def check_vectors(found, tokens, elmo):
    """Asserts that the vectors, by `id`, are those of an `ElmoEmbedder`."""
    is_good = [words is not None and None not in words for words in tokens]
    good = [i for i, is_one in enumerate(is_good) if is_one]
    expected = ElmoEmbedder(elmo, "top").embed_sentences(
        tokens[i] for i in good
    )
    for i, vectors in zip(good, expected):
        np.testing.assert_allclose(found[i], vectors, 1e-5, 1e-5)
    assert all(found[i] is None for i in set(range(len(tokens))) - {*good})


class Killer(threading.Thread):
    """Repeatedly kills a process of some kind, as soon as it is working.

    In a `with` statement, it does so until the end of the block.

    Args:
        pattern: Pattern that its command line matches.
        number: Integer, the number of kills.
        folder: The folder in which a working process has a file open.
    """

    def __init__(self, pattern, number, folder):
        super().__init__(daemon=True)
        self._pattern = re.compile(pattern)
        self._number = number
        self._folder = str(folder)
        self._end = threading.Event()
        self.killed = []

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self.join()

    def run(self):
        while len(self.killed) < self._number and not self._end.wait(0.05):
            for process in pathlib.Path("/proc").iterdir():
                if process.name.isdecimal() and self._is_at_work(process):
                    os.kill(int(process.name), signal.SIGKILL)
                    self.killed.append(process.name)
                    break

    def _is_at_work(self, process):
        try:
            command = (process / "cmdline").read_bytes().decode()
            return self._pattern.search(command) and any(
                os.readlink(file).startswith(f"{self._folder}/.")
                for file in (process / "fd").iterdir()
            )
        except OSError:
            return False  # The process has ended.
