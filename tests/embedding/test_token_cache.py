import threading

import numpy as np

from keras_elmo.embedding.token_cache import TokenCache


class Encoder:
    """Gives a word's length and first byte, and notes what it was asked."""

    def __init__(self):
        self.calls = []

    def __call__(self, words):
        self.calls.append(words)
        return np.array([[len(w), w[0]] for w in words], "float32")


def look_up(cache, words):
    vectors = cache.vectors(words)
    np.testing.assert_array_equal(vectors, [[len(w), w[0]] for w in words])


def test_known_words_are_not_encoded_again():
    encode = Encoder()
    cache = TokenCache(encode, 10)
    look_up(cache, [b"a", b"bb"])
    look_up(cache, [b"bb", b"ccc", b"a"])
    look_up(cache, [b"a", b"bb"])
    assert encode.calls == [[b"a", b"bb"], [b"ccc"]]


def test_the_word_unused_for_longest_makes_room():
    encode = Encoder()
    cache = TokenCache(encode, 2)
    look_up(cache, [b"a", b"bb"])
    look_up(cache, [b"a"])
    look_up(cache, [b"ccc"])  # in the place of bb
    look_up(cache, [b"a", b"ccc"])
    look_up(cache, [b"bb"])
    assert encode.calls == [[b"a", b"bb"], [b"ccc"], [b"bb"]]
    assert len(cache) == 2


def test_more_words_than_there_is_room_for():
    cache = TokenCache(Encoder(), 2)
    words = [b"a", b"bb", b"ccc", b"dddd"]
    look_up(cache, words)
    assert len(cache) == 2
    look_up(cache, words[::-1])
    assert len(cache) == 2


def test_threads_share_a_cache():
    cache = TokenCache(Encoder(), 20)
    words = [bytes([97 + i % 26]) * (i + 1) for i in range(60)]
    wrong = []

    def look_up_often(seed):
        generator = np.random.default_rng(seed)
        for _ in range(200):
            chosen = [words[i] for i in generator.permutation(60)[:15]]
            vectors = cache.vectors(chosen)
            expected = [[len(word), word[0]] for word in chosen]
            wrong.extend([] if (vectors == expected).all() else [seed])

    threads = [
        threading.Thread(target=look_up_often, args=(seed,))
        for seed in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and len(cache) == 20


def test_a_cache_of_no_words_and_an_empty_one():
    encode = Encoder()
    cache = TokenCache(encode, 0)
    look_up(cache, [b"a"])
    look_up(cache, [b"a"])
    assert len(cache) == 0 and len(encode.calls) == 2
    cache = TokenCache(encode, 5)
    look_up(cache, [b"a"])
    cache.clear()
    look_up(cache, [b"a"])
    assert len(encode.calls) == 4
