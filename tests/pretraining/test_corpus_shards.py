import os
import pathlib

import pytest

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
