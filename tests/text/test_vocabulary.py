import codecs
import gzip
import os

import numpy as np
import pytest

from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.text.vocabulary import covered_share

SPECIAL = [b"<S>", b"</S>", b"<UNK>"]


def write(path, content):
    path.write_bytes(content)
    return path


def test_ids_are_places_in_the_file(tmp_path):
    path = tmp_path / "v.txt"
    write(path, b"the\n<S>\n<UNK>\n</S>\n\xc3\xa9\na\xff\n\0\n")
    vocabulary = Vocabulary.from_file(path)
    assert len(vocabulary) == 7
    assert vocabulary.words[4:] == [b"\xc3\xa9", b"a\xff", b"\0"]
    assert vocabulary.unknown_id == 2
    words = [b"a\xff", b"none", b"", b"the", b"</S>", b"<UNK>", b"the\0"]
    ids = vocabulary.ids(iter(words))
    assert ids.dtype == "int32" and ids.tolist() == [5, 2, 2, 0, 3, 2, 2]
    assert vocabulary.ids([]).shape == (0,)
    for word in ("the", np.bytes_(b"the")):
        with pytest.raises(ValueError, match=r"must be bytes\. Received: "):
            vocabulary.ids([b"the", word])


def test_other_ways_to_write_the_same_file(tmp_path):
    expected = Vocabulary([*SPECIAL, b"a", b"b"])
    plain = b"<S>\n</S>\n<UNK>\na\nb"
    for content in (
        plain,
        plain + b"\n",
        plain.replace(b"\n", b"\r\n"),
        codecs.BOM_UTF8 + plain,
        plain.replace(b"a", b"!!!MAXTERMID\na"),
        gzip.compress(plain),
    ):
        path = write(tmp_path / "v", content)
        assert Vocabulary.from_file(path) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<S>\na\r\r\n", "white space .*. Received as word 2: b'a"),
        (b"", "Missing from the 0 words: <S>, </S>, <UNK>"),
        (b"\x1f\x8bcut off", "cannot be unpacked"),
        ("<S>\n</S>\n<UNK>\n".encode("utf-16"), "it is UTF-16: convert it"),
    ],
)
def test_files_that_are_no_vocabularies(tmp_path, content, message):
    path = write(tmp_path / "v.txt", content)
    with pytest.raises(ValueError, match=f"'{path}'.*{message}"):
        Vocabulary.from_file(path)
    with pytest.raises(FileNotFoundError, match=r"none\.txt"):
        Vocabulary.from_file(tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*SPECIAL, "a"], "must be bytes. Received as word 4: 'a'"),
        ([*SPECIAL, b""], r"or a count\)\. Received as word 4: b''"),
        ([*SPECIAL, b"the 5"], r"white space \(or a count\).*b'the 5'"),
        ([*SPECIAL, b"<S>"], "must be distinct. Received as word 4: b'<S>'"),
        ([*SPECIAL, b"!!!MAXTERMID"], "vocabulary file. Received as word 4"),
        ([b"<S>", b"a"], "Missing from the 2 words: </S>, <UNK>"),
    ],
)
def test_words_that_cannot_be(words, message):
    with pytest.raises(ValueError, match=message):
        Vocabulary(words)


def test_it_does_not_change(tmp_path):
    vocabulary = Vocabulary(SPECIAL)
    vocabulary.words.append(b"a")
    assert vocabulary.words == SPECIAL
    assert vocabulary == Vocabulary(SPECIAL)
    assert vocabulary != Vocabulary(SPECIAL[::-1])
    assert vocabulary != SPECIAL
    with pytest.raises(AttributeError):
        vocabulary.unknown_id = 3


def test_what_is_written_is_read(tmp_path):
    vocabulary = Vocabulary([*SPECIAL, b"a\xa0b", b"\xff", b"\0"])
    path = write(tmp_path / "v.txt", b"old")
    vocabulary.write(path)
    assert Vocabulary.from_file(path) == vocabulary
    assert os.listdir(tmp_path) == ["v.txt"]


def test_words_go_by_falling_count():
    counts = {
        **{b"<S>": 50, b"c": 3, b"a": 3, b"b": 7, b"rare": 1},
        **{b"!!!MAXTERMID": 9, b"<UNK>": 2},
    }
    make = Vocabulary.from_counts
    assert make(counts).words == [*SPECIAL, b"b", b"a", b"c", b"rare"]
    assert make(counts, min_count=3).words == [*SPECIAL, b"b", b"a", b"c"]
    assert make({}).words == SPECIAL


def test_how_much_of_a_text_is_covered():
    known = [*SPECIAL, b"a"]
    assert covered_share(b"a".split() * 9 + [b"x"], known) == 0.9
    assert covered_share(b"a x a".split(), [b"a", b"x", b"y"]) == 1
    with pytest.warns(match=r"has 89\.9% of the text's words"):
        assert covered_share({b"a": 899, b"x": 101}, known) == 0.899
    with pytest.warns(match=r"has 75\.0% of the text's words"):
        covered_share(b"a a a <UNK>".split(), known)
    for text in (b"x <S> </S>".split(), []):
        with pytest.raises(ValueError, match=r"has 0\.0% of .*tokenised like"):
            covered_share(text, known)
