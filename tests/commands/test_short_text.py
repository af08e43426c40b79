import pytest

from keras_elmo.commands.short_text import shorten

WORDS = ["[", "don't", '"', "}", "\\", "a" * 20] * 50


@pytest.mark.parametrize("text", ["", "Received: ['a', 'b']", "don't [", "]}"])
def test_what_is_short_stays(text):
    assert shorten(text) == text


@pytest.mark.parametrize("value", [WORDS, {"words": WORDS}, [[1] * 99] * 9])
def test_a_vocabulary_is_cut(value):
    text = f"The model's config={value}. It isn't known: 'A'. ['a']"
    before, _, after = shorten(text).partition(" ... ")
    assert text.startswith(before) and len(before) < 150
    assert after[1:] == ". It isn't known: 'A'. ['a']"
    assert after[0] == repr(value)[-1]


def test_what_is_never_closed():
    assert shorten("a " + "[1, " * 999).endswith("[1, [1,  ... ")
