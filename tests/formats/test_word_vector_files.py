"""Files of word vectors, as people have them."""

import codecs
import gzip
import re
import sys

import numpy as np
import pytest
from conftest import ON_TENSORFLOW

from keras_elmo import WordVectors
from keras_elmo import batch_to_ids
from keras_elmo.formats.word_vector_files import read_word_vectors

pytestmark = ON_TENSORFLOW  # Files are read alike on every backend.

WORDS = [b"the", b",", "Århus".encode(), b"1.5", "東京".encode()]
VECTORS = np.float32(np.random.default_rng(0).normal(size=(5, 3)))
GLOVE = b"".join(
    word + b" " + " ".join(map(str, row)).encode() + b"\n"
    for word, row in zip(WORDS, VECTORS.tolist())
)


def binary(end=b"\n"):
    return b"5 3\n" + b"".join(
        word + b" " + row.astype("<f4").tobytes() + end
        for word, row in zip(WORDS, VECTORS)
    )


@pytest.mark.parametrize(
    "content",
    [
        GLOVE,
        codecs.BOM_UTF8 + GLOVE,
        GLOVE.replace(b" ", b"\t").replace(b"\n", b"\r\n"),
        b"5 3\n" + GLOVE.replace(b"\n", b" \n"),  # fastText's .vec
        b"5\t3\r\n" + GLOVE.replace(b"\n", b"\r\n") + b"\r\n\n",
        binary(),
        binary(b""),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_every_format(content, pack, tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(pack(content))
    for number in (100, 2):
        words, vectors = read_word_vectors(path, number)
        assert words == WORDS[:number]
        np.testing.assert_array_equal(vectors, VECTORS[:number])


@pytest.mark.parametrize("first", [b"a", b". . .", b"\x01", b"caf\xe9"])
def test_text_with_phrases_and_a_few_words_in_another_encoding(first, tmp_path):
    path = tmp_path / "vectors.txt"
    lines = [b"w%d 1.5 2" % i for i in range(200)]
    lines[50:52] = b"Windows 10 3 4", b"caf\xe9 5 6"
    lines[0] = first + b" -1e-05 0.25"  # It could be a binary number.
    path.write_bytes(b"200 2\n" + b"\n".join(lines))
    number = 1 + (first == b"caf\xe9")
    told = f"{number} of 200 words .* such as b'caf.xe9', are not UTF-8"
    with pytest.warns(UserWarning, match=told):
        words, vectors = read_word_vectors(path, 200)
    assert [words[0], *words[50:52]] == [first, b"Windows 10", b"caf\xe9"]
    assert vectors[50:52].tolist() == [[3, 4], [5, 6]]
    np.testing.assert_allclose(vectors[0], [-1e-5, 0.25])


def test_a_binary_file_is_not_read_further_than_asked(tmp_path):
    path = tmp_path / "vectors.bin"
    path.write_bytes(binary()[:-5])
    words, _ = read_word_vectors(path, 4)
    assert words == WORDS[:4]


SHORT = GLOVE.replace(str(VECTORS[2, 2].tolist()).encode(), b"")
HEADER = b"5 3\n"


def in_each_line(pattern, new):
    return HEADER + re.sub(pattern, new, GLOVE, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty .0 bytes."),
        (b"the 120\nof 99\n", "line 1: .*at least two.*'the 120"),
        (b"Ann NNP B-PER\nsings VB O\n", "line 1: .* a word and 2 finite"),
        (SHORT, "line 3: .* a word and 3 finite.*Received: b'"),
        (GLOVE + b"cat 1 2 3 4\n", "line 6: .*3 finite.*'cat 1 2 3 4"),
        (b"5 2\n" + GLOVE, "line 2: .*2 finite.*'the "),
        (GLOVE + b"dog 5000 1 1\n", "similar size.*5e.03.*'dog'"),
        (GLOVE + b"cat 1 nan 2\n", "line 6: .*3 finite.*b'cat"),
        (GLOVE + b"cat 1e99 1 2\n", "line 6: .*3 finite.*b'cat"),
        (b"caf\xe9 1 2\n" + b"na\xefve 1 2\n", "must be in UTF-8.*iconv"),
        (GLOVE + b"Windows 10 1 2 3\n", "line 6: .*a phrase.*'1000 3'"),
        (in_each_line(b"^", b"7 "), "line 2: .*index.*'7 the "),
        (in_each_line(rb"^(\S+)", rb'"\1"'), 'line 2: .*quotes.*"the" '),
        (in_each_line(rb" (\S+)", rb" tensor(\1)"), "line 2: .*'the tensor"),
        (in_each_line(rb" (.*)", rb" [\1]"), "line 2: .*'the .0.1257"),
        (in_each_line(rb"\.", b","), "line 2: .*'the 0,1257"),
        (HEADER, "ends after 0 of 5 words"),
        (b"99999999 300\na b\x00", "300 numbers.*truncated.* 4 bytes"),
        (binary()[:20], "truncated.* 16 bytes after"),
        (binary()[:-9], "truncated.* an end in word 5"),
        (gzip.compress(binary()[:20], mtime=0), "truncated.* an end in word 2"),
        (binary() + b"the", "That line is wrong.* more after"),
        (binary().replace(VECTORS[1].tobytes(), b"\xff" * 12), "nan .*','"),
        (codecs.BOM_UTF16_LE + b"\0", "UTF-16: convert it with `iconv"),
        (b"0 3\n", "ends after 0 of 1 words"),
        (b"5 99999\n" + GLOVE, "line 1: .*b'5 99999"),
        (b"PK\x03\x04abc", "it is a zip archive: unpack it"),
        (b"\x80\x04\x95", "a Python pickle, as gensim"),
        (b"\xba\x16O/\x0c\0", "a whole model of fastText: take its .vec"),
        (gzip.compress(GLOVE)[:-20], "cannot be unpacked"),
    ],
)
def test_what_is_no_file_of_word_vectors(content, message, tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"'{path}'.*{message}"):
        read_word_vectors(path, 1000)


def test_sizes_are_no_matter_if_they_are_similar(tmp_path):
    path = tmp_path / "vectors.txt"
    for scale in 1e-30, 1e30:
        rows = (VECTORS * scale).tolist()
        lines = [f"w{' '.join(map(str, [i, *x]))}" for i, x in enumerate(rows)]
        path.write_text("\n".join(lines))
        layer = WordVectors.from_file(path, verbose=0)
        np.testing.assert_allclose(np.std(layer.vectors), 1, rtol=1e-3)


def test_what_may_be_something_else_causes_a_warning(tmp_path):
    path = tmp_path / "vectors.txt"
    for content, message in (
        (b"7 1.5 2\n8 3 4\n", "All words .* are numbers"),
        (b"word 0 1\nthe 0.5 2\n", "first numbers .* columns, delete"),
        (b"the 1000 50\nof 900 49\n", "are whole. Are they vectors, and not"),
        (b"2000 3\n" + GLOVE, "ends after 5 of 2,000 words. Is it"),
    ):
        path.write_bytes(content)
        with pytest.warns(UserWarning, match=message):
            read_word_vectors(path, 1000)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no word vector .*a\.txt"):
        WordVectors.from_file(tmp_path / "a.txt")
    with pytest.raises(ValueError, match="must be a file"):
        WordVectors.from_file(tmp_path)


def test_the_layer_of_a_file(tmp_path, capsys, monkeypatch):
    path = tmp_path / "glove.txt"
    path.write_bytes(GLOVE)
    WordVectors.from_file(path)
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    layer = WordVectors.from_file(path, verbose=1, name="glove")
    assert "5" in capsys.readouterr().out and layer.name == "glove"
    found = layer(batch_to_ids([["The", "and", "åRHUS"]])).numpy()[0]
    expected = VECTORS[[0, 0, 2]] / VECTORS.std() * [[1], [0], [0]]
    np.testing.assert_allclose(found, expected, rtol=1e-3)
    layer = WordVectors.from_file(path, 2, verbose=0, trainable=True)
    assert capsys.readouterr().out == ""
    np.testing.assert_allclose(np.std(layer.vectors), 1, rtol=1e-5)
    with pytest.raises(ValueError, match="`max_words`"):
        WordVectors.from_file(path, 0)
    path.write_bytes(b"a 1.5 1.5\nb 1.5 1.5\n")
    told = "finite in float16, and not all be equal"
    with pytest.raises(ValueError, match=told):
        WordVectors.from_file(path, verbose=0)
