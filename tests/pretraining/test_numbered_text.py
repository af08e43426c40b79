import codecs
import gzip
import tempfile

import numpy as np
import pytest

from keras_elmo.models.fingerprint import file_digest
from keras_elmo.pretraining import numbered_text as module
from keras_elmo.pretraining.corpus_shards import find_shards
from keras_elmo.pretraining.numbered_text import number_text
from keras_elmo.pretraining.numbered_text import open_numbered_text
from keras_elmo.text.vocabulary import Vocabulary


def read(paths, **kwargs):
    """Returns the `NumberedText`, the `Reading` and the counts of a corpus."""
    with tempfile.TemporaryFile() as file:
        reading, counts = number_text(list(map(str, paths)), file, **kwargs)
        text = open_numbered_text(file, reading)
    return text, reading, counts


def sentences_of(text):
    """Returns the sentences of a `NumberedText`, by definition."""
    sentences = []
    for number in text.numbers.tolist():
        if number == 0:
            sentences.append([])
        else:
            sentences[-1].append(text.words[number])
    return sentences


@pytest.mark.filterwarnings("ignore:.* of the lines of the text are empty")
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_sentences_are_lines(tmp_path, pack):
    content = codecs.BOM_UTF8 + b"a  b\tb\r\n \n<S> </S>\n</S> <UNK>"
    path = tmp_path / ("x.gz" if pack is gzip.compress else "x")
    path.write_bytes(pack(content))
    text, reading, counts = read([path])
    expected = [b"a b b", b"", b"<S> </S>", b"</S> <UNK>"]
    assert sentences_of(text) == [line.split() for line in expected]
    assert reading[:3] == (4, 7, [[path.name, file_digest(path)]])
    assert counts == {b"a": 1, b"b": 2, b"<S>": 1, b"</S>": 2, b"<UNK>": 1}
    # The marks are the first words, and no word of the text.
    assert text.words == [b"<S>", b"</S>", *counts]


def test_several_shards(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_RUN", 3)
    monkeypatch.setattr(module, "_WRITTEN_TOKENS", 5)
    contents = [b"", b"a b\nb\n\n", b"c\n", b"a b a c a b\n" * 7]
    paths = [tmp_path / f"{i}.txt" for i in range(len(contents))]
    for path, content in zip(paths, contents):
        path.write_bytes(content)
    text, reading, counts = read(paths)
    lines = b"".join(contents).splitlines()
    assert sentences_of(text) == [line.split() for line in lines]
    assert counts == {b"a": 22, b"b": 16, b"c": 8}
    # Runs of three sentences, but for the last.
    ends = np.cumsum([6, 2 + 2 * 7, 3 * 7, 2 * 7])
    np.testing.assert_array_equal(text.starts, [0, *ends])
    assert [name for name, _ in reading.digests] == [p.name for p in paths]


def test_progress(tmp_path):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"some words\n" * 25_000))
    told = []
    read([path], on_progress=lambda *done: told.append(done))
    sentences, tokens, shares = zip(*told)
    assert sentences == (0, 10_000, 20_000, 25_000)
    assert tokens == (0, 20_000, 40_000, 50_000)
    assert sorted(shares) == list(shares) and shares[-1] == 1


def test_sentences_that_are_seen(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"a b\nb  a\na\n")
    unseen = {(b"a", b"b"), (b"b", b"a"), (b"b",)}
    read([path], unseen=unseen)
    assert unseen == {(b"b",)}


@pytest.mark.parametrize(
    "content, told",
    [(b"", "empty files"), (b"\n \n", "only empty lines in")],
)
def test_an_empty_corpus(tmp_path, content, told):
    paths = [tmp_path / name for name in "ab"]
    for path in paths:
        path.write_bytes(content)
    told = rf"least one sentence.*: {told} \['{paths[0]}', '{paths[1]}'\]"
    with pytest.raises(ValueError, match=told):
        read(paths)


def test_empty_lines_are_told(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"\n \na b\n" + b"a\n" * 17)
    assert len(sentences_of(read([path])[0])) == 20
    path.write_bytes(b"\n \na b\n" + b"a\n" * 16)
    with pytest.warns(match=rf"11% of .* are empty.*: zcat -f '{path}' \| gr"):
        read([path])


@pytest.mark.exhaustive
def test_it_is_the_vocabulary_that_bilm_tf_trained_with(shared):
    folder = shared / "data/english_lm"
    expected = Vocabulary.from_file(folder / "vocab.txt")
    _, reading, counts = read(find_shards(f"{folder}/train/*.txt"))
    assert reading[:2] == (220_584, 4_779_276)
    vocabulary = Vocabulary.from_counts(counts, min_count=5)
    assert set(vocabulary.words) == set(expected.words)
    # There, words with equal counts are in another order.
    found, expected = (
        [counts[word] for word in x.words[3:]] for x in (vocabulary, expected)
    )
    assert found == expected
