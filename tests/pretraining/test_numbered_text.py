import codecs
import gzip
import io
import tempfile

import numpy as np
import pytest

from keras_elmo.models.fingerprint import file_digest
from keras_elmo.pretraining import numbered_text as module
from keras_elmo.pretraining.corpus_shards import check_sentences
from keras_elmo.pretraining.corpus_shards import find_shards
from keras_elmo.pretraining.numbered_text import character_ids
from keras_elmo.pretraining.numbered_text import number_text
from keras_elmo.pretraining.numbered_text import open_numbered_text
from keras_elmo.text.byte_indexer import ByteIndexer
from keras_elmo.text.vocabulary import Vocabulary

CONTENTS = {
    "windows": codecs.BOM_UTF8 + b"a b\r\n\r\nc\r\n",
    "white space": "  a   b\tb\u00a0\u2028\x0b\x0c\x85 c\n \n\n d".encode(),
    "marks": b"<S> </S>\n</S> <UNK>\n",
}


def plain_lines(content):
    """Returns the words of each line, by definition."""
    content = content.removeprefix(codecs.BOM_UTF8)
    lines = content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    lines = [line[:-1] if line[-1:] == b"\r" else line for line in lines]
    return [line.split() for line in lines]


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
@pytest.mark.parametrize("name", CONTENTS)
def test_sentences_are_lines(tmp_path, name):
    content = CONTENTS[name] + b"last"
    expected = plain_lines(content)
    for file, stored in (("x", content), ("x.gz", gzip.compress(content))):
        (tmp_path / file).write_bytes(stored)
        text, reading, counts = read([tmp_path / file])
        assert sentences_of(text) == expected
        words = [word for sentence in expected for word in sentence]
        assert reading[:2] == (len(expected), len(words))
        assert counts == {word: words.count(word) for word in words}
        # The marks are the first words, and no word of the text.
        assert text.words == [b"<S>", b"</S>", *counts]
        assert reading.digests == [[file, file_digest(tmp_path / file)]]


def test_several_shards(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_RUN", 3)
    monkeypatch.setattr(module, "_WRITTEN_TOKENS", 5)
    contents = [b"", b"a b\nb\n\n", b"c\n", b"a b a c a b\n" * 7]
    paths = [tmp_path / f"{i}.txt" for i in range(len(contents))]
    for path, content in zip(paths, contents):
        path.write_bytes(content)
    text, reading, counts = read(paths)
    sentences = sentences_of(text)
    assert sentences == plain_lines(b"".join(contents))
    assert counts == {b"a": 22, b"b": 16, b"c": 8}
    # Runs begin with a sentence, and all but the last have as many.
    assert len(text.starts) == 5 and text.starts[-1] == len(text.numbers)
    runs = [
        int((text.numbers[i:j] == 0).sum())
        for i, j in zip(text.starts, text.starts[1:])
    ]
    assert runs == [3, 3, 3, 2]
    assert not text.numbers[text.starts[:-1]].any()
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


def test_an_empty_corpus(tmp_path):
    paths = [tmp_path / name for name in "ab"]
    for path in paths:
        path.write_bytes(b"")
    with pytest.raises(ValueError, match="at least one sentence") as info:
        read(paths)
    assert f"'{paths[0]}', '{paths[1]}'" in str(info.value)
    paths[1].write_bytes(b"\n \n")
    with pytest.raises(ValueError, match=r"words\. Received: only empty"):
        read(paths)


def test_empty_lines_are_told(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"\n \na b\n" + b"a\n" * 17)
    assert len(sentences_of(read([path])[0])) == 20
    path.write_bytes(b"\n \na b\n" + b"a\n" * 16)
    with pytest.warns(match="11% of the lines of the text are empty"):
        read([path])
    with pytest.warns(match=f"for example with: zcat -f '{path}' | grep"):
        check_sentences(3, 1, [path])


@pytest.mark.parametrize("kept", [0, 3, 20, -40, -9, -1])
def test_a_file_that_is_cut_off(tmp_path, kept):
    (tmp_path / "x").write_bytes(b"a b c\nd\n" * 5)
    file = io.BytesIO()
    reading, _ = number_text([str(tmp_path / "x")], file)
    file = io.BytesIO(file.getvalue()[:kept])
    assert open_numbered_text(file, reading) is None


def test_characters():
    indexer = ByteIndexer(6)
    words = [b"<S>", b"</S>", b"cat", "é".encode(), b"too long"]
    ids = character_ids(words, indexer)
    assert ids.dtype == "int16"
    np.testing.assert_array_equal(ids, indexer.ids_of_words(words))


@pytest.mark.exhaustive
def test_it_is_the_vocabulary_that_bilm_tf_trained_with(shared):
    folder = shared / "data/english_lm"
    expected = Vocabulary.from_file(folder / "vocab.txt")
    _, reading, counts = read(find_shards(f"{folder}/train/*.txt"))
    assert reading[:2] == (220_584, 4_779_276)
    vocabulary = Vocabulary.from_counts(counts, min_count=5)
    assert vocabulary.words[:3] == expected.words[:3]
    assert set(vocabulary.words) == set(expected.words)
    falling = [counts[word] for word in vocabulary.words[3:]]
    # There, words with equal counts are in another order.
    assert falling == [counts[word] for word in expected.words[3:]]
    assert falling == sorted(falling, reverse=True)
