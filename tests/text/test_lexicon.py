import numpy as np
import pytest
from text.lexicons import CHARACTERS
from text.lexicons import SPECIAL
from text.lexicons import WORDS

from keras_elmo.text.lexicon import Lexicon

BOS, EOS, OOV, PAD, BOW, EOW = range(1, 7)


def ids(words, width=6, listed=None):
    words = [w.encode() if isinstance(w, str) else w for w in words]
    return Lexicon(CHARACTERS, listed, width).ids_of_words(words).tolist()


def test_ids_by_hand():
    """The marks of a word are swapped; the second word is cut, as is b"""
    assert ids(["éa", "今天ab今", "x", ""]) == [
        [EOW, 9, 7, BOW, PAD, PAD],
        [EOW, 10, 11, 7, 8, BOW],
        [EOW, OOV, BOW, PAD, PAD, PAD],
        [EOW, BOW, PAD, PAD, PAD, PAD],
    ]
    assert ids(["<bos>", "<eos>"]) == [
        [EOW, BOS, BOW, PAD, PAD, PAD],
        [EOW, EOS, BOW, PAD, PAD, PAD],
    ]


def test_words_are_looked_up_as_they_are_cropped():
    found = ids(["abababababab", "abab", "<bos>", "", "b", "a\0"], 10, WORDS)
    assert [row[-1] for row in found] == [7, 1, 2, 9, 1, 8]
    assert np.shape(found) == (6, 11)


def test_what_is_no_utf_8_is_replaced_code_point_by_code_point():
    assert ids([b"a\xff\xfeb"]) == [[EOW, 7, OOV, OOV, 8, BOW]]


def test_shape_and_number_of_ids():
    lexicon = Lexicon(CHARACTERS, None, 6)
    assert lexicon.token_shape == (6,)
    assert lexicon.num_ids == len(CHARACTERS) + 1 == 15
    lexicon = Lexicon(SPECIAL, WORDS, 6)
    assert lexicon.token_shape == (7,)
    assert lexicon.num_ids == len(WORDS) + 1 == 10
    assert Lexicon(**lexicon.config()).config() == lexicon.config()


@pytest.mark.parametrize(
    ("characters", "words", "width", "message"),
    [
        ([*CHARACTERS, "a"], None, 6, "`characters` must be there once.*'a'"),
        (SPECIAL[1:], None, 6, "`characters` must hold.*Missing, of 5: <bos>"),
        ([*SPECIAL, 7], None, 6, "`characters` must be strings. Received: 7"),
        (SPECIAL, ["a"], 6, "`words` must hold <oov>"),
        (SPECIAL, [*WORDS, ""], 6, "`words` must be there once.*''"),
        (SPECIAL, None, 2, "`max_characters_per_token`"),
    ],
)
def test_lists_that_cannot_be(characters, words, width, message):
    with pytest.raises(ValueError, match=message):
        Lexicon(characters, words, width)
