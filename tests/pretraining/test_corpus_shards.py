import codecs
import gzip
import os
import pathlib

import pytest

from keras_elmo.pretraining.corpus_shards import ShardLines
from keras_elmo.pretraining.corpus_shards import find_shards

CONTENTS = {
    "nothing": b"",
    "mark": codecs.BOM_UTF8,
    "an empty line": b"\n",
    "no end": b"a b\nc",
    "an end": b"a b\nc\n",
    "windows": b"a b\r\n\r\nc\r\n",
    "returns": b"a\rb\r\r\n\rc\n",
    "spaces": b"  a   b  \n   \n\n c",
    "other white space": "a\tb\u00a0\u2028\x0b\x0c\x85 c\n".encode(),
    "any bytes": codecs.BOM_UTF8 + b"\0 \xc3\xa9\n\xef\xbb\xbf x\n<S> </S>\n",
}


def plain_lines(content):
    """Returns the words of each line, by definition."""
    content = content.removeprefix(codecs.BOM_UTF8)
    lines = content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    lines = [line[:-1] if line[-1:] == b"\r" else line for line in lines]
    return [line.split() for line in lines]


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
        ("a.txt", ["a.txt"]),
        (pathlib.Path("b.txt"), ["b.txt"]),
        (["b.txt", pathlib.Path("a.txt")], ["a.txt", "b.txt"]),
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
        ("*", ValueError, "a folder: 'deep'"),
    ],
)
def test_shards_that_are_not_found(folder, paths, error, message):
    with pytest.raises(error, match=message):
        find_shards(paths)


@pytest.mark.parametrize("name", CONTENTS)
def test_lines_by_index(tmp_path, name):
    content = CONTENTS[name]
    expected = plain_lines(content)
    for file, stored in (("x", content), ("x.gz", gzip.compress(content))):
        (tmp_path / file).write_bytes(stored)
        lines = ShardLines(tmp_path / file)
        assert len(lines) == len(expected)
        assert [lines[i] for i in range(len(lines))] == expected
        assert list(lines) == expected


def test_a_real_shard(shared, tmp_path):
    path = shared / "data/english_lm/train/shard-03.txt"
    expected = plain_lines(path.read_bytes())
    assert list(ShardLines(path)) == expected
    packed = tmp_path / "shard.gz"
    packed.write_bytes(gzip.compress(path.read_bytes(), 1))
    assert list(ShardLines(packed)) == expected


def test_text_that_is_not_utf8(tmp_path):
    path = tmp_path / "x"
    path.write_bytes("ä\n".encode() + "a bß c\n".encode("latin1"))
    message = "iconv.*Received: b'.xdf' in line 2, at byte 6"
    with pytest.raises(ValueError, match=f"x' must be UTF-8.*{message}"):
        ShardLines(path)[1]


def test_indices_beyond_the_shard(tmp_path):
    (tmp_path / "x").write_bytes(b"a\nb\n")
    lines = ShardLines(tmp_path / "x")
    for index in (2, -1):
        with pytest.raises(IndexError, match=f"2 sentences. Received: {index}"):
            lines[index]


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError, match="none"):
        ShardLines(tmp_path / "none")
    packed = gzip.compress(b"some words\n" * 1000)
    damaged = [packed[:-9], packed[:20] + b"\0\0" + packed[22:], b"plain\n"]
    for content in damaged:
        path = tmp_path / "x.gz"
        path.write_bytes(content)
        with pytest.raises(ValueError, match="truncated") as info:
            ShardLines(path)
        assert f"'{path}'" in str(info.value)


@pytest.mark.skipif(os.name == "nt", reason="Windows cuts no file in use.")
def test_a_file_that_is_cut_off_in_use(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"word\n" * 100_000)
    lines = ShardLines(path)
    os.truncate(path, 10)
    with pytest.raises(ValueError, match="had 500000 bytes and now has 10"):
        lines[99_999]
