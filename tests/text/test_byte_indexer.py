import numpy as np
import pytest

from keras_elmo import WordVectorization
from keras_elmo import batch_to_ids
from keras_elmo.text.byte_indexer import ByteIndexer

BEGIN_SENTENCE, END_SENTENCE, BEGIN, END, PAD = 257, 258, 259, 260, 261
BOUNDARIES = {b"<S>": BEGIN_SENTENCE, b"</S>": END_SENTENCE}
WORDS = [
    *("Cat", "\u00e9", "e\u0301", "\u4e2d", "\U0001f600", "a b", "\0"),
    *("a\0b\0", "", "<s>", "<S>", "</S>", "\u4e2d" * 20, "abcdefghij" * 1000),
    *("x" * 9, "x" * 10, "x" * 11, "x" * 48, "x" * 49, b"\xff\x00\xc3(\x80"),
    *(bytes([byte]) for byte in range(256)),
]


def row_of(word, width):
    """Returns the ids of a word, by the rules of bilm-tf."""
    word = word if isinstance(word, bytes) else word.encode()
    body = [byte + 1 for byte in word[: width - 2]]
    if word in BOUNDARIES:
        body = [BOUNDARIES[word]]
    return [BEGIN, *body, END] + [PAD] * (width - 2 - len(body))


@pytest.mark.parametrize("width", [3, 4, 50])
def test_a_word_is_its_bytes_between_marks(width):
    ids = batch_to_ids([WORDS], width)
    assert ids.dtype == "int32"
    expected = [[row_of(word, width) for word in WORDS]]
    np.testing.assert_array_equal(ids, expected)
    assert ids.max() < ByteIndexer.num_ids == 262
    assert ByteIndexer.begin_id == BEGIN
    boundaries = batch_to_ids([["<S>", "</S>"]], width)[0]
    np.testing.assert_array_equal(ByteIndexer(width).boundary_ids, boundaries)


@pytest.mark.parametrize("width", [3, 5, 12])
def test_a_cropped_word_has_the_same_ids(width):
    indexer = ByteIndexer(width)
    words = [w if isinstance(w, bytes) else w.encode() for w in WORDS]
    words += [b"<S>.", b"</S>.", b"</S"]
    cropped = [indexer.crop(word) for word in words]
    assert max(map(len, cropped)) <= max(width, 5)
    ids = indexer.ids_of_words(words)
    np.testing.assert_array_equal(indexer.ids_of_words(cropped), ids)


def test_ids_by_hand():
    cat = [BEGIN, 68, 98, 117, END, PAD]
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


@pytest.mark.parametrize("width", [2, 50.0])
def test_width_must_leave_room(width):
    told = f"max_characters_per_token.*Received: {width!r}"
    with pytest.raises(ValueError, match=told):
        batch_to_ids([["a"]], width)


def test_cropped_words_are_found():
    long = ["a" * 49, "\u00e9" * 25, b"\xff" * 49]
    sentences = [["a" * 48, long[0]], [], ["\u00e9" * 24, *long[1:]]]
    places = [(0, 1), (2, 1), (2, 2)]
    expected = [(*place, word) for place, word in zip(places, long)]
    find = WordVectorization().find_cropped_words
    assert find(sentences) == expected
    find = WordVectorization(ByteIndexer(5)).find_cropped_words
    assert find(iter([iter(["abc", "abcd"])])) == [(0, 1, "abcd")]
    # What is left out, or has a row of its own, is not cropped.
    assert find([["<S>", "</S>", "abc\ud800"]]) == []
