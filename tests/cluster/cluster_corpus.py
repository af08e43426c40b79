"""A corpus with odd rows, checks of its vectors, and a thread that kills."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from conftest import ROOT

from keras_elmo import ElmoEmbedder
from keras_elmo.text.corpora import read_corpus

ODD = [[], None, ["a" * 70, "é"], ["x", None], ["b" * 10**6]]
"""Rows as found in corpora: no words, null, overlong words, a null word, and a
huge word. A long sentence is added."""
NOT_UTF8 = b"not\xff"


def write_corpus(folder, shared, rows, number):
    """Writes sentences, some of them odd, to Parquet files.

    Returns:
        The list of the tokens of all rows, by `id`; `None` if they are invalid.
    """
    text = shared / "data/english_lm/heldout.txt"
    sentences = [sentence.tokens for sentence in read_corpus(str(text))]
    # Of real words: where one is repeated, the LSTMs amplify rounding errors.
    long = [word for words in sentences for word in words][:5000]
    tokens = [*ODD, long, *(sentences[i % len(sentences)] for i in range(rows))]
    tokens = [*tokens[: rows - 1], ["ok", NOT_UTF8]]
    folder.mkdir()
    for part in range(number):
        ids = range(part, rows, number)
        columns = {
            "id": pa.array(ids),
            "source": [f"line {i}" for i in ids],
            "tokens": strings([tokens[i] for i in ids]),
        }
        pq.write_table(pa.table(columns), folder / f"part{part:02}.parquet")
    return tokens


def strings(rows):
    """Returns an Arrow array of lists of strings, one of them not UTF-8."""
    lists = pa.array(rows, pa.list_(pa.binary()))
    return pa.ListArray.from_arrays(
        lists.offsets,
        lists.values.view(pa.string()),
        mask=lists.is_null(),
    )


def check_rows(rows, tokens, elmo):
    """Asserts that every row occurs once, with the embedder's vectors."""
    found = {}
    for row in rows:
        assert row["id"] not in found
        assert row.get("source", f"line {row['id']}") == f"line {row['id']}"
        found[row["id"]] = row
    assert sorted(found) == list(range(len(tokens)))
    bad = {None: "is null", NOT_UTF8: "is not UTF-8"}
    good = []
    for i, words in enumerate(tokens):
        error = [bad[word] for word in words or [None] if word in bad]
        if words == [] or not error:
            good.append(i)
            assert found[i]["error"] is None
        else:
            assert error[0] in found[i]["error"]
            assert found[i]["vectors"] is None
    expected = ElmoEmbedder(elmo, "top").embed_sentences(
        tokens[i] for i in good
    )
    for i, vectors in zip(good, expected):
        row = np.array(found[i]["vectors"], "float32")
        shape = found[i]["num_tokens"], found[i]["width"]
        np.testing.assert_allclose(row.reshape(shape), vectors, 1e-5, 1e-5)


def rows_of(folder):
    """Returns the rows of a folder of Parquet files, without their tokens."""
    return pq.read_table(folder).drop_columns("tokens").to_pylist()


def times_of(paths):
    """Returns when each file was written."""
    return {path: path.stat().st_mtime_ns for path in paths}


def check_refusals(main, folder, shared):
    """Asserts that what no worker can do is told once, by the program."""
    out = folder / "out"
    for name, tokens in (("nested", [[["a"]]]), ("numbers", [[1]])):
        (folder / name).mkdir()
        table = pa.table({"id": [1], "tokens": tokens})
        pq.write_table(table, folder / name / "part.parquet")
        error = main([str(folder / name), str(out)])
        assert "must contain lists of strings" in error
    write_corpus(folder / "in", shared, 20, 1)
    arguments = [str(folder / "in"), str(out), "--model", "nowhere"]
    assert "Received: 'nowhere'" in main(arguments)
    assert not out.exists()


def kill_when(program, arguments, is_time):
    """Starts a program, and kills it as soon as `is_time` returns `True`."""
    path = ROOT / "examples" / "cluster" / program
    process = subprocess.Popen(
        [sys.executable, path, *arguments],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not is_time():
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(3)  # Workers notice it a moment later.


class Killer(threading.Thread):
    """In a `with` statement, kills working processes of some kind.

    Args:
        pattern: Pattern that their command line matches.
        number: Integer, the number of kills.
        is_time: Function that returns whether to kill one.
    """

    def __init__(self, pattern, number, is_time=lambda: True):
        super().__init__(daemon=True)
        self._pattern = re.compile(pattern)
        self._number = number
        self._is_time = is_time
        self._end = threading.Event()
        self.killed = []

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self.join()

    def run(self):
        while len(self.killed) < self._number and not self._end.wait(1):
            if not self._is_time():
                continue
            for process in pathlib.Path("/proc").iterdir():
                if process.name.isdecimal() and self._matches(process):
                    os.kill(int(process.name), signal.SIGKILL)
                    self.killed.append(process.name)
                    break

    def _matches(self, process):
        try:
            command = (process / "cmdline").read_bytes().decode()
            return self._pattern.search(command)
        except OSError:
            return False  # The process has ended.
