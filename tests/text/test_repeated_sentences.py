import warnings

import pytest

from keras_elmo.text.repeated_sentences import labelled_differently
from keras_elmo.text.repeated_sentences import warn_of_repeated

SHORT = ["a"] * 5
LONG = [["b"] * 5 + [str(i)] for i in range(20)]


@pytest.mark.parametrize(
    "others, share, number",
    [(LONG[:1], 0, 1), (LONG[:2], 0.1, 0), (LONG[:3], 0.1, 3), ([], 0, 0)],
)
def test_long_sentences_that_are_repeated(others, share, number):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warn_of_repeated(
            [*LONG, SHORT], [*others, SHORT], "sentences", "TRAIN", share
        )
    told = f"{number} of 20 sentences are in TRAIN, too, such as 'b b b b b 0'"
    told = [told] * bool(number)
    assert [str(x.message).partition(" (")[0] for x in found] == told


def test_the_words_may_be_bytes():
    sentences = [["\u00e4".encode()] * 6]
    with pytest.warns(UserWarning, match="too, such as '(\u00e4 ?){6}' "):
        warn_of_repeated(sentences, sentences, "sentences", "TRAIN")


def test_equal_sentences_with_different_labels():
    words = ["abcd", "ab", "abcd", "ab", "", "x", "abcd"]
    tags = ["OXYO", "OO", "OOYO", "OO", "", "X", "OXOO"]
    found = [*labelled_differently(map(list, words), tags)]
    assert found == [([0, 2, 6], 1, 3)]
