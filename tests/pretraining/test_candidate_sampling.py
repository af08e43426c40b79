import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo.pretraining.vocabulary_softmax import LogUniformCandidates


def draw(candidates, seed):
    words, log_expected = candidates.draw(seed)
    assert keras.backend.standardize_dtype(words.dtype) == "int32"
    assert keras.backend.standardize_dtype(log_expected.dtype) == "float32"
    return ops.convert_to_numpy(words), ops.convert_to_numpy(log_expected)


@pytest.mark.parametrize(
    "num_words, number", [(1, 1), (2, 1), (50, 8), (50, 49), (800_000, 8192)]
)
def test_expected_counts_add_up(num_words, number):
    candidates = LogUniformCandidates(num_words, number)
    counts = candidates.expected_counts
    assert np.sum(counts) == pytest.approx(number, rel=1e-12)
    assert np.all(counts > 0) and np.all(counts <= 1)
    words, log_expected = draw(candidates, 3)
    assert words.shape == (number,)
    np.testing.assert_allclose(log_expected, np.log(counts[words]), atol=1e-6)


def test_expected_counts_are_those_of_distinct_log_uniform_words():
    counts = LogUniformCandidates(1000, 300).expected_counts
    rank = np.arange(1000)
    p = np.log((rank + 2) / (rank + 1)) / np.log(1001)
    # The number of tries is the same for all words.
    p, counts = p[counts < 0.99], counts[counts < 0.99]
    tries = np.log1p(-counts) / np.log1p(-p)
    np.testing.assert_allclose(tries, tries[0], rtol=1e-4)


def test_words_are_drawn_as_often_as_expected():
    candidates = LogUniformCandidates(50, 37)
    draws, counts = 500, np.zeros(50)
    for seed in range(draws):
        counts += np.bincount(draw(candidates, seed)[0], minlength=50)
    expected = candidates.expected_counts
    sigma = np.sqrt(expected * (1 - expected / 2) / draws)
    assert np.all(np.abs(counts / draws - expected) < 4.5 * sigma + 1e-9)


def test_a_unit_has_one_draw():
    # On the line of cumulative counts, each unit interval gets one draw: a word
    # with a count of one, which is such an interval, is always there.
    candidates = LogUniformCandidates(800_000, 8192)
    ends = np.cumsum(candidates.expected_counts)
    for seed in range(30):
        words, _ = draw(candidates, seed)
        unit = np.arange(8192)
        starts = ends[words] - candidates.expected_counts[words]
        assert np.all(starts < unit + 1) and np.all(ends[words] > unit)


def test_all_words_are_there_once():
    words, log_expected = draw(LogUniformCandidates(50, 51), 0)
    np.testing.assert_array_equal(words, np.arange(50))
    assert not np.any(log_expected)


@pytest.mark.parametrize("value", [0.0, 1 - 2**-24])
def test_a_unit_is_its_words_from_its_start_to_its_end(monkeypatch, value):
    monkeypatch.setattr(
        keras.random,
        "uniform",
        lambda shape, dtype, seed: ops.full(shape, value, dtype),
    )
    words, _ = draw(LogUniformCandidates(50, 50), 0)
    np.testing.assert_array_equal(words, np.arange(50))
    words, _ = draw(LogUniformCandidates(50, 1), 0)
    np.testing.assert_array_equal(words, [49 if value else 0])


def test_same_seed_same_draws():
    candidates = LogUniformCandidates(1000, 30)
    generator = keras.random.SeedGenerator(1)
    found = [draw(candidates, x)[0] for x in (1, 1, 2, generator, generator)]
    np.testing.assert_array_equal(found[0], found[1])
    assert np.any(found[0] != found[2]) and np.any(found[3] != found[4])


def test_draws_do_not_depend_on_the_default_precision():
    candidates = LogUniformCandidates(100_000, 64)
    expected, _ = draw(candidates, 5)
    floatx = keras.config.floatx()
    keras.config.set_floatx("float16")
    try:
        words, _ = draw(candidates, 5)
    finally:
        keras.config.set_floatx(floatx)
    np.testing.assert_array_equal(words, expected)
