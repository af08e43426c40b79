import gzip
import os
import pathlib

import pytest

from keras_elmo.pretraining.corpus_shards import check_held_out
from keras_elmo.pretraining.corpus_shards import find_shards


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("b.txt", "a.txt", "c[1].txt", "deep/er/d.txt", "e.gz"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n")
    return tmp_path


@pytest.mark.parametrize(
    "paths, expected",
    [
        ("*.txt", ["a.txt", "b.txt", "c[1].txt"]),
        (pathlib.Path("b.txt"), ["b.txt"]),
        (["e.*", "[ab].txt", "a.txt"], ["a.txt", "b.txt", "e.gz"]),
        ("c[1].txt", ["c[1].txt"]),
        ("deep/**/*.txt", ["deep/er/d.txt"]),
        (iter(["a.txt"]), ["a.txt"]),
        (["b.txt", "./b.txt", "deep/../b.txt", "link"], ["b.txt"]),
    ],
)
def test_shards_are_found(folder, paths, expected):
    os.symlink("b.txt", "link")
    found = [os.path.normpath(path) for path in find_shards(paths)]
    assert found == expected


@pytest.mark.parametrize(
    "paths, error, message",
    [
        ("*.json", FileNotFoundError, "no corpus file '\\*.json'"),
        (["a.txt", "none.txt"], FileNotFoundError, "'none.txt'"),
        ("deep", ValueError, r"a folder: 'deep'. Its files: 'deep/\*'"),
    ],
)
def test_shards_that_are_not_found(folder, paths, error, message):
    with pytest.raises(error, match=message):
        find_shards(paths)


def test_a_shard_is_not_held_out(folder):
    shards = find_shards("*.txt")
    (folder / "a.txt").write_text("x\ny z\n")
    os.symlink("a.txt", "link")
    (folder / "copy").write_bytes(b"x\r\ny  z")
    (folder / "packed").write_bytes(gzip.compress(b"x\ny z\n"))
    (folder / "longer").write_bytes(b"x\ny z\nx\n")
    (folder / "shorter").write_bytes(b"")
    check_held_out(["longer", "shorter"], shards)
    for name in ("a.txt", "./a.txt", "link", "copy", "packed"):
        told = f"'{name}', with the same text as 'a.txt' of the corpus"
        with pytest.raises(ValueError, match=f"`heldout` must .*{told}"):
            check_held_out(["longer", name], shards)
