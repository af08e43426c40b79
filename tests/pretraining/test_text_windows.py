import itertools

import numpy as np
import pytest
from pretraining.test_token_streams import make_text as make_numbered
from pretraining.test_token_streams import sentences_of
from pretraining.test_token_streams import take as take_tokens

from keras_elmo.pretraining import text_windows as module
from keras_elmo.pretraining.text_windows import sentence_windows
from keras_elmo.pretraining.text_windows import stream_windows
from keras_elmo.pretraining.text_windows import training_windows

LENGTHS = [3, 0, 1, 7, 2, 2, 0, 5, 1, 4]


def make_text(lengths=LENGTHS):
    """Returns sentences in which no word occurs twice."""
    return make_numbered(lengths)[1]


def following(tokens, direction):
    """Returns what follows each token but the last, by definition."""
    return [
        1 - direction if token == direction else token for token in tokens[1:]
    ]


def laid_end_to_end(text):
    """Returns what a row of all sentences reads and predicts, by direction."""
    rows = []
    for d in range(2):
        read = ([d, *(words[::-1] if d else words)] for words in text)
        inputs = list(itertools.chain(*read))
        rows.append((inputs, following([*inputs, d], d)))
    return rows


@pytest.mark.parametrize("rows, steps", [(1, 1), (1, 4), (3, 4), (8, 20)])
@pytest.mark.parametrize("most", [24, 10**6])
def test_windows_to_train_on(monkeypatch, rows, steps, most):
    monkeypatch.setattr(module, "_LAID_OUT", most)
    text, _ = make_numbered([*LENGTHS, *range(12)])
    size = len(text.numbers)
    # As many windows as fit into a pass are laid out together.
    count = max(1, min(most, size) // (rows * steps))
    streams = [take_tokens(d, 6 * size, text=text) for d in range(2)]
    found = list(itertools.islice(training_windows(text, rows, steps, 3), 60))
    for i, window in enumerate(found):
        assert window.inputs.shape == window.targets.shape == (2, rows, steps)
        block, place = divmod(i, count)
        if (block + 1) * count * rows * steps >= len(streams[0]):
            break
        for d, row in itertools.product(range(2), range(rows)):
            start = ((block * rows + row) * count + place) * steps
            tokens = streams[d][start : start + steps + 1]
            assert window.inputs[d, row].tolist() == tokens[:-1]
            assert window.targets[d, row].tolist() == following(tokens, d)
    assert i > 3


@pytest.mark.parametrize("first", [1, 4, 37])
def test_windows_go_on_from_any_of_them(first):
    text, _ = make_numbered([*LENGTHS, *range(12)])
    every = training_windows(text, 2, 3, 5)
    expected = list(itertools.islice(every, first, first + 9))
    for window, other in zip(training_windows(text, 2, 3, 5, first), expected):
        np.testing.assert_array_equal(window.inputs, other.inputs)
        np.testing.assert_array_equal(window.targets, other.targets)


def check_shapes(window, rows=None, steps=None):
    shape = window.is_real.shape
    assert shape == (rows or shape[0], steps or shape[1])
    assert window.inputs.shape == window.targets.shape == (2, *shape)
    assert window.inputs.dtype == window.targets.dtype == "int32"
    assert window.is_real.dtype == bool
    # A row ends only once, and only padding follows.
    assert not np.any(np.diff(window.is_real.astype(int), axis=1) > 0)


def read_rows(windows):
    """Returns what each row reads and predicts: [row][direction]."""
    is_real = np.concatenate([window.is_real for window in windows], axis=1)
    # (2, rows, time)
    parts = [
        np.concatenate([getattr(window, name) for window in windows], axis=2)
        for name in ("inputs", "targets")
    ]
    return [
        [tuple(part[d, row, real].tolist() for part in parts) for d in range(2)]
        for row, real in enumerate(is_real)
    ]


@pytest.mark.parametrize("rows", [1, 2, 3, 14])
@pytest.mark.parametrize("steps", [1, 3, 4, 100])
def test_rows_share_the_sentences(rows, steps):
    text = make_text()
    windows = list(stream_windows(text, rows, steps))
    for window in windows:
        check_shapes(window, rows, steps)
        assert np.any(window.is_real)
    found = []
    for row in read_rows(windows):
        sentences = sentences_of(row[0][0], 0)
        # Each row has whole sentences, the same ones in both directions.
        assert row == laid_end_to_end(sentences)
        places = [text.index(s) for s in sentences if s]
        assert places == sorted(places)
        found.extend(sentences)
    assert sorted(found) == sorted(text)
    if rows == 1:
        assert found == text
        assert all(np.all(window.is_real) for window in windows[:-1])


@pytest.mark.parametrize("max_tokens", [1, 6, 12, 1000])
@pytest.mark.parametrize("chunk", [1, 4, 4096])
def test_each_sentence_is_a_row_of_its_own(monkeypatch, max_tokens, chunk):
    monkeypatch.setattr(module, "_SORTED_SENTENCES", chunk)
    text = make_text()
    found = []
    for window in sentence_windows(text, max_tokens):
        check_shapes(window)
        rows, steps = window.is_real.shape
        assert rows == 1 or rows * steps <= max_tokens
        lengths = window.is_real.sum(axis=1)
        assert lengths.max() == steps and lengths.min() > 0
        for i, row in zip(window.sentences, read_rows([window]), strict=True):
            (sentence,) = sentences_of(row[0][0], 0)
            assert sentence == text[i]
            assert row == laid_end_to_end([sentence])
            found.append(sentence)
    assert sorted(found) == sorted(text)
    # Sorted by length within each chunk, in the order of the chunks.
    expected = [
        len(sentence)
        for start in range(0, len(text), chunk)
        for sentence in sorted(text[start : start + chunk], key=len)
    ]
    assert [len(sentence) for sentence in found] == expected


def test_windows_of_sentences_are_filled():
    # Lengths with boundaries: 1, 1, 2, 2, 3, 3, 4, 5, 6, 8.
    shapes = [w.is_real.shape for w in sentence_windows(make_text(), 12)]
    assert shapes == [(4, 2), (3, 4), (2, 6), (1, 8)]
    shapes = [w.is_real.shape for w in sentence_windows(make_text(), 80)]
    assert shapes == [(10, 8)]


def test_no_sentence_no_window():
    assert list(stream_windows([], 3, 4)) == []
    assert list(sentence_windows([], 4)) == []
