import numpy as np
import pytest

from keras_elmo import WordVectorization
from keras_elmo import batch_to_ids
from keras_elmo.text.byte_indexer import ByteIndexer

WORDS = [
    *("", "a b", "\u00e9", "e\u0301", "\u4e2d" * 20, "\U0001f600", "a\0b\0"),
    *(b"<S>", b"</S>", b"<S>.", b"</S>.", b"</S", b"<s>", b"\xff\x00\xc3("),
    *(b"x" * number for number in (9, 10, 11, 48, 49, 10_000)),
    *(bytes([byte]) for byte in range(256)),
]
AS_BYTES = [w.encode() if isinstance(w, str) else w for w in WORDS]
BOUNDARIES = {b"<S>": 257, b"</S>": 258}


def row_of(word, width):
    """Returns the ids of a word, by the rules of bilm-tf."""
    body = [byte + 1 for byte in word[: width - 2]]
    if word in BOUNDARIES:
        body = [BOUNDARIES[word]]
    return [259, *body, 260] + [261] * (width - 2 - len(body))


@pytest.mark.parametrize("width", [3, 4, 50])
def test_a_word_is_its_bytes_between_marks(width):
    ids = batch_to_ids([WORDS], width)
    assert ids.dtype == "int32"
    expected = [[row_of(word, width) for word in AS_BYTES]]
    np.testing.assert_array_equal(ids, expected)
    assert ids.max() < ByteIndexer.num_ids == 262
    assert ByteIndexer.begin_id == 259
    boundaries = batch_to_ids([["<S>", "</S>"]], width)[0]
    np.testing.assert_array_equal(ByteIndexer(width).boundary_ids, boundaries)


@pytest.mark.parametrize("width", [3, 5, 12])
def test_a_cropped_word_has_the_same_ids(width):
    indexer = ByteIndexer(width)
    cropped = [indexer.crop(word) for word in AS_BYTES]
    assert max(map(len, cropped)) <= max(width, 5)
    ids = indexer.ids_of_words(AS_BYTES)
    np.testing.assert_array_equal(indexer.ids_of_words(cropped), ids)


def test_ids_by_hand():
    cat = [259, 68, 98, 117, 260, 261]
    np.testing.assert_array_equal(batch_to_ids([["Cat"]], 6), [[cat]])
    assert batch_to_ids([["a"]]).shape == (1, 1, 50)  # As published.
    # Lone surrogates are left out.
    np.testing.assert_array_equal(
        batch_to_ids([["a\ud800b", "\udfff"]]), batch_to_ids([["ab", ""]])
    )


def test_rows_after_a_sentence_are_zero():
    ids = batch_to_ids([["a"], [], ["b", "", "c"]])
    assert ids.shape == (3, 3, 50)
    is_word = [[1, 0, 0], [0, 0, 0], [1, 1, 1]]
    np.testing.assert_array_equal(ids.any(-1), is_word)
    for sentences, shape in (([], (0, 0, 50)), ([[]], (1, 0, 50))):
        ids = batch_to_ids(sentences)
        assert ids.shape == shape and ids.dtype == "int32"


def test_any_sequence_will_do():
    sentences = [["The", "cat"], ["It", "sat"]]
    expected = batch_to_ids(sentences)
    for same in (
        tuple(tuple(words) for words in sentences),
        (iter(words) for words in sentences),
        np.array(sentences, dtype="S"),
        np.array(sentences, dtype=object),
        [np.array(words) for words in sentences],
    ):
        np.testing.assert_array_equal(batch_to_ids(same), expected)


@pytest.mark.parametrize(
    "sentences, message",
    [
        ("A b.", "`sentences` must be a list.*Received: 'A b.'"),
        (7, "`sentences` must be a list.*Received: 7"),
        (np.array("word"), r"`sentences` must be a list.*array\('word'"),
        ([["a"], b"A b."], "sentence must be a list.*as sentence 1: b'A b.'"),
        ([["a"], None], "sentence must be a list.*as sentence 1: None"),
        ([np.array("word")], "sentence must be a list.*as sentence 0: array"),
        ([["a", 7]], r"word must be a string.*word 1 of sentence 0: 7 \(of"),
    ],
)
def test_sentences_are_lists_of_words(sentences, message):
    with pytest.raises(ValueError, match=message):
        batch_to_ids(sentences)


def test_cropped_words_are_found():
    long = ["a" * 49, "\u00e9" * 25, b"\xff" * 49]
    sentences = [["a" * 48, long[0]], [], ["\u00e9" * 24, *long[1:]]]
    places = [(0, 1), (2, 1), (2, 2)]
    expected = [(*place, word) for place, word in zip(places, long)]
    assert WordVectorization().find_cropped_words(sentences) == expected
    find = WordVectorization(ByteIndexer(5)).find_cropped_words
    assert find(iter([iter(["abc", "abcd"])])) == [(0, 1, "abcd")]
    # What is left out, or has a row of its own, is not cropped.
    assert find([["<S>", "</S>", "abc\ud800"]]) == []


@pytest.mark.parametrize("width", [2, 50.0])
def test_width_must_leave_room(width):
    told = f"max_characters_per_token.*Received: {width!r}"
    with pytest.raises(ValueError, match=told):
        batch_to_ids([["a"]], width)
