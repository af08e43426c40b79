from keras_elmo import WordVectorization
from keras_elmo.text import ByteSpelling
from keras_elmo.text.cropped_words import CroppedWords


def test_words_are_counted_with_their_first_sentence():
    cropped = CroppedWords(WordVectorization(ByteSpelling(5)))
    assert cropped.add(0, ["abc", "abcd"]) == [(1, "abcd")]
    assert cropped.add(1, []) == []
    assert cropped.add(2, ["\u4e2d\u4e2d", "", "abcd"]) == [
        (0, "\u4e2d\u4e2d"),
        (2, "abcd"),
    ]
    assert cropped.total == 3
    assert cropped.most_frequent(9) == [
        ("abcd", 2, 0),
        ("\u4e2d\u4e2d", 1, 2),
    ]
    assert cropped.most_frequent(1) == [("abcd", 2, 0)]


def test_what_is_kept_is_bounded():
    cropped = CroppedWords(WordVectorization(), max_words=10)
    for i in range(100):
        word = f"{i:04}" * 1000
        assert cropped.add(i, [word, word]) == [(0, word), (1, word)]
    assert cropped.total == 200
    kept = cropped.most_frequent(1000)
    assert kept == [((f"{i:04}" * 25), 2, i) for i in range(10)]
