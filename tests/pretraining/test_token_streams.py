import itertools

import numpy as np
import pytest

from keras_elmo.pretraining import token_streams as module
from keras_elmo.pretraining.numbered_text import NumberedText
from keras_elmo.pretraining.token_streams import token_stream

RUN = 3


def make_text(lengths):
    """Returns a text in which no word occurs twice, and its sentences."""
    number = itertools.count(2)
    sentences = [[next(number) for _ in range(n)] for n in lengths]
    tokens = [x for words in sentences for x in (0, *words)]
    starts = np.flatnonzero(np.array(tokens) == 0)[::RUN]
    starts = np.array([*starts, len(tokens)], "int64")
    return NumberedText([], np.array(tokens, "int32"), starts), sentences


TEXT, SENTENCES = make_text([3, 0, 1, 40, 2, 2, 0, 5, 1, 4, *range(12)])
SIZE = len(TEXT.numbers)


@pytest.fixture(params=[1, 25, 10**6], autouse=True)
def part(request, monkeypatch):
    """The number of tokens that are put into an order at a time."""
    monkeypatch.setattr(module, "_PART", request.param)
    return request.param


def take(direction, count, start=0, seed=3, text=TEXT):
    """Returns the next tokens of a stream."""
    found = []
    for tokens in token_stream(text, direction, seed, start):
        assert tokens.dtype == "int32"
        found += tokens.tolist()
        if len(found) >= count:
            return found[:count]


def sentences_of(tokens, direction):
    """Returns the sentences in tokens, in reading order of a text."""
    sentences = []
    for token in tokens:
        if token == direction:
            sentences.append([])
        else:
            assert token > 1
            sentences[-1].append(token)
    return [words[::-1] if direction else words for words in sentences]


@pytest.mark.parametrize("direction", [0, 1])
def test_a_pass_has_every_sentence_once(direction):
    tokens = take(direction, 4 * SIZE)
    passes = [
        sentences_of(tokens[i : i + SIZE], direction)
        for i in range(0, 4 * SIZE, SIZE)
    ]
    for sentences in passes:
        assert sorted(sentences) == sorted(SENTENCES)
    assert all(one != other for one, other in itertools.pairwise(passes))


def test_orders_stay_what_they_were(part):
    # Otherwise a resumed training would see other windows.
    text, _ = make_text([1] * 12)
    orders = {
        0: [5, 11, 7, 6, 3, 10, 0, 2, 9, 1, 8, 4, 8, 10, 2, 0, 9, 1, 5, 4],
        1: [10, 9, 3, 11, 5, 2, 6, 0, 7, 8, 4, 1, 4, 5, 10, 8, 6, 11, 0, 1],
    }
    if part == 1:
        orders = {
            0: [5, 3, 4, 1, 2, 0, 6, 8, 7, 9, 11, 10, 2, 0, 1, 7, 6, 8, 9, 10],
            1: [6, 7, 8, 11, 10, 9, 5, 4, 3, 0, 2, 1, 8, 6, 7, 3, 5, 4, 2, 1],
        }
    for direction, expected in orders.items():
        tokens = take(direction, 40, seed=7, text=text)
        assert [token - 2 for token in tokens[1::2]] == expected


@pytest.mark.parametrize("direction", [0, 1])
def test_it_goes_on_from_any_token(direction):
    expected = take(direction, 3 * SIZE + 7)
    for start in [*range(0, 3 * SIZE, 13), SIZE, 2 * SIZE - 1]:
        assert take(direction, 7, start) == expected[start : start + 7]
