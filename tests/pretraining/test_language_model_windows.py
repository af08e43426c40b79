import itertools

import numpy as np
import pytest
from pretraining.test_numbered_text import read

from keras_elmo import batch_to_ids
from keras_elmo.pretraining.language_model_windows import LanguageModelWindows
from keras_elmo.pretraining.text_windows import training_windows
from keras_elmo.text.vocabulary import Vocabulary

ROWS, STEPS = 6, 7


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "a.txt").write_bytes(
        b"the cat sat\n\nA\x01 \x01 \xc3\xa9 the\n"
        + b"long" * 20
        + b" <S> cat\n"
    )
    (tmp_path / "b.txt").write_bytes(b"the dog </S> ran\n" * 40)
    return tmp_path


@pytest.fixture
def vocabulary():
    words = [b"<UNK>", b"<S>", b"</S>", b"the", b"cat", b"A\x01", b"dog"]
    return Vocabulary(words)


def make_windows(folder, vocabulary, width=50):
    paths = f"{folder}/*.txt"
    return LanguageModelWindows(paths, vocabulary, ROWS, STEPS, width)


def take(windows, count):
    return [
        (np.array(inputs), np.array(targets))
        for inputs, targets in itertools.islice(iter(windows), count)
    ]


@pytest.mark.parametrize("width", [50, 8])
def test_windows_are_those_of_a_training_encoded(corpus, vocabulary, width):
    windows = make_windows(corpus, vocabulary, width)
    text, *_ = read(sorted(corpus.glob("*.txt")))
    expected = training_windows(text, ROWS, STEPS, seed=0)
    for (inputs, targets), window in zip(take(windows, 30), expected):
        assert inputs.dtype == targets.dtype == "int32"
        for place in np.ndindex(2, ROWS, STEPS):
            word = text.words[window.inputs[place]]
            ids = batch_to_ids([[word]], width)[0, 0]
            np.testing.assert_array_equal(inputs[place], ids)
            word = text.words[window.targets[place]]
            assert targets[place] == vocabulary.ids([word])[0]


def test_a_vocabulary_may_be_a_list_or_a_file(corpus, vocabulary, tmp_path):
    words = [word.decode() for word in vocabulary.words]
    (tmp_path / "vocab").write_text("\n".join(words) + "\n")
    for given in (words, tmp_path / "vocab", str(tmp_path / "vocab")):
        assert make_windows(corpus, given).vocabulary == vocabulary


def test_another_iteration_goes_on(corpus, vocabulary):
    expected = take(make_windows(corpus, vocabulary), 9)
    windows = make_windows(corpus, vocabulary)
    found = [*take(windows, 4), *take(windows, 5)]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


def test_paths_may_be_an_iterator(corpus, vocabulary):
    paths = corpus.glob("*.txt")
    windows = LanguageModelWindows(paths, vocabulary, ROWS, STEPS)
    found = take(windows, 3)
    expected = take(make_windows(corpus, vocabulary), 3)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one[0], other[0])


@pytest.mark.parametrize(
    "name, value", [("batch_size", 0), ("unroll_steps", 1.5), ("seed", -1)]
)
def test_arguments_are_checked(corpus, vocabulary, name, value):
    with pytest.raises(ValueError, match=f"`{name}` .* Received: {value}"):
        LanguageModelWindows(f"{corpus}/*", vocabulary, **{name: value})
