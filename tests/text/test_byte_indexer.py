import numpy as np
import pytest

from keras_elmo import WordVectorization
from keras_elmo import batch_to_ids
from keras_elmo.text.byte_indexer import ByteIndexer

BEGIN_SENTENCE, END_SENTENCE, BEGIN, END, PAD = 257, 258, 259, 260, 261


def find_cropped_words(sentences, width=50):
    layer = WordVectorization(ByteIndexer(width))
    return layer.find_cropped_words(sentences)


def row_of(*body, width=50):
    """Returns the row of a word from the ids between its two marks."""
    return [BEGIN, *body, END] + [PAD] * (width - 2 - len(body))


@pytest.mark.parametrize(
    "word, body",
    [
        ("Cat", [68, 98, 117]),
        ("\u00e9", [0xC3 + 1, 0xA9 + 1]),
        ("e\u0301", [102, 0xCC + 1, 0x81 + 1]),
        ("\u4e2d", [0xE4 + 1, 0xB8 + 1, 0xAD + 1]),
        ("\U0001f600", [0xF0 + 1, 0x9F + 1, 0x98 + 1, 0x80 + 1]),
        ("a b", [98, 33, 99]),
        ("\0", [1]),
        ("a\0b\0", [98, 1, 99, 1]),
        ("", []),
        ("<s>", [61, 116, 63]),
        ("<S>", [BEGIN_SENTENCE]),
        ("</S>", [END_SENTENCE]),
    ],
)
@pytest.mark.parametrize("width", [12, 50])
def test_word_is_its_bytes_between_marks(word, body, width):
    expected = [[row_of(*body, width=width)]]
    for indexer in (word, word.encode()):
        ids = batch_to_ids([[indexer]], width)
        np.testing.assert_array_equal(ids, expected)
        assert ids.dtype == "int32"


def test_the_width():
    assert batch_to_ids([["a"]]).shape == (1, 1, 50)  # As published.
    assert batch_to_ids([["a"]], np.int64(12)).shape == (1, 1, 12)


@pytest.mark.parametrize("width", [3, 12, 50])
def test_long_words_are_cropped(width):
    body = [ord(c) + 1 for c in "abcdefghij" * 5][: width - 2]
    for length in (width - 2, width - 1, 50, 10_000):
        word = ("abcdefghij" * 1000)[:length]
        np.testing.assert_array_equal(
            batch_to_ids([[word]], width)[0, 0],
            row_of(*body[:length], width=width),
        )


def test_cropping_counts_bytes_and_may_split_a_character():
    word = "\u4e2d" * 20
    three_bytes = [0xE4 + 1, 0xB8 + 1, 0xAD + 1]
    np.testing.assert_array_equal(
        batch_to_ids([[word]], 12)[0, 0],
        row_of(*(three_bytes * 3), 0xE4 + 1, width=12),
    )
    np.testing.assert_array_equal(
        batch_to_ids([[word]], 50)[0, 0], row_of(*(three_bytes * 16))
    )


def test_boundary_words_are_whole_at_any_width():
    for width in (3, 4, 12):
        np.testing.assert_array_equal(
            batch_to_ids([["<S>", "</S>"]], width)[0],
            [row_of(mark, width=width) for mark in (257, 258)],
        )
        np.testing.assert_array_equal(
            ByteIndexer(width).boundary_ids,
            batch_to_ids([["<S>", "</S>"]], width)[0],
        )


def test_lone_surrogates_are_left_out():
    np.testing.assert_array_equal(
        batch_to_ids([["a\ud800b", "\udfff"]])[0],
        [row_of(98, 99), row_of()],
    )


def test_bytes_that_are_not_utf8_are_kept():
    word = b"\xff\x00\xc3(\x80"
    np.testing.assert_array_equal(
        batch_to_ids([[word]])[0, 0], row_of(*(byte + 1 for byte in word))
    )


def test_every_byte_has_its_id():
    ids = [batch_to_ids([[bytes([byte])]])[0, 0, 1] for byte in range(256)]
    assert ids == list(range(1, 257))


def test_rows_after_a_sentence_are_zero():
    ids = batch_to_ids([["a"], [], ["b", "", "c"]])
    assert ids.shape == (3, 3, 50)
    np.testing.assert_array_equal(
        ids.any(-1),
        [[True, False, False], [False, False, False], [True, True, True]],
    )


@pytest.mark.parametrize(
    "sentences, shape", [([], (0, 0, 50)), ([[]], (1, 0, 50))]
)
def test_nothing_has_the_right_rank_and_dtype(sentences, shape):
    ids = batch_to_ids(sentences)
    assert ids.shape == shape
    assert ids.dtype == "int32"


def test_any_sequence_will_do():
    sentences = [["The", "cat"], ["It", "sat"]]
    expected = batch_to_ids(sentences)
    for same in (
        tuple(tuple(words) for words in sentences),
        (iter(words) for words in sentences),
        np.array(sentences),
        np.array(sentences, dtype="S"),
        np.array(sentences, dtype=object),
        [np.array(words) for words in sentences],
    ):
        np.testing.assert_array_equal(batch_to_ids(same), expected)


@pytest.mark.parametrize(
    "sentences, message",
    [
        ("A b.", "`sentences` must be a list.*Received: 'A b.'"),
        (b"A b.", "`sentences` must be a list.*Received: b'A b.'"),
        (7, "`sentences` must be a list.*Received: 7"),
        (np.array("word"), r"`sentences` must be a list.*array\('word'"),
        ([["a"], "A b."], "sentence must be a list.*as sentence 1: 'A b.'"),
        ([["a"], b"A b."], "sentence must be a list.*as sentence 1: b'A b.'"),
        ([["a"], None], "sentence must be a list.*as sentence 1: None"),
        ([np.array("word")], "sentence must be a list.*as sentence 0: array"),
        ([["a", 7]], r"word must be a string.*word 1 of sentence 0: 7 \(of"),
        ([["a", ["b"]]], r"word must be a string.*: \['b'\] \(of type list"),
    ],
)
@pytest.mark.parametrize("function", [batch_to_ids, find_cropped_words])
def test_sentences_are_lists_of_words(function, sentences, message):
    with pytest.raises(ValueError, match=message):
        function(sentences)


@pytest.mark.parametrize("width", [2, 0, -1, 50.0, "50", None, True])
@pytest.mark.parametrize("function", [batch_to_ids, find_cropped_words])
def test_width_must_leave_room(function, width):
    with pytest.raises(ValueError, match="max_characters_per_token") as info:
        function([["a"]], width)
    assert f"Received: {width!r}" in str(info.value)


def test_cropped_words_are_found():
    sentences = [
        ["a" * 48, "a" * 49],
        [],
        ["\u00e9" * 24, "\u00e9" * 25, b"\xff" * 49],
    ]
    assert find_cropped_words(sentences) == [
        (0, 1, "a" * 49),
        (2, 1, "\u00e9" * 25),
        (2, 2, b"\xff" * 49),
    ]
    assert find_cropped_words(iter([iter(["abc", "abcd"])]), 5) == [
        (0, 1, "abcd")
    ]
    assert find_cropped_words([]) == []


def test_what_is_left_out_or_has_a_row_of_its_own_is_not_cropped():
    assert find_cropped_words([["<S>", "</S>", "ab\ud800"]], 4) == []
