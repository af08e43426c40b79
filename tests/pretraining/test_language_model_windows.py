import itertools

import numpy as np
import pytest

from keras_elmo import batch_to_ids
from keras_elmo.choices import DIRECTIONS
from keras_elmo.pretraining.language_model_windows import LanguageModelWindows
from keras_elmo.pretraining.token_streams import TokenStream
from keras_elmo.text.vocabulary import Vocabulary

ROWS, STEPS = 6, 7


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "a.txt").write_bytes(
        b"the cat sat\n\nA\0 \0 \xc3\xa9 the\n" + b"long" * 20 + b" <S> cat\n"
    )
    (tmp_path / "b.txt").write_bytes(b"the dog </S> ran\n" * 40)
    return tmp_path


@pytest.fixture
def vocabulary():
    words = [b"<UNK>", b"<S>", b"</S>", b"the", b"cat", b"A\0", b"dog"]
    return Vocabulary(words)


def make_windows(folder, vocabulary, width=50):
    paths = f"{folder}/*.txt"
    return LanguageModelWindows(paths, vocabulary, ROWS, STEPS, width)


def take(windows, count):
    windows.keeps_positions = True
    return [
        (np.array(inputs), np.array(targets), windows.next_position())
        for inputs, targets in itertools.islice(iter(windows), count)
    ]


@pytest.mark.parametrize("width", [50, 8])
def test_windows_are_the_streams_encoded(corpus, vocabulary, width):
    windows = make_windows(corpus, vocabulary, width)
    streams = [
        TokenStream(f"{corpus}/*.txt", direction, ROWS, STEPS)
        for direction in DIRECTIONS
    ]
    for inputs, targets, positions in take(windows, 30):
        assert inputs.dtype == targets.dtype == "int32"
        for i, stream in enumerate(streams):
            words, followers = stream.next_window()
            for place in np.ndindex(ROWS, STEPS):
                expected = batch_to_ids([[words[place]]], width)[0, 0]
                np.testing.assert_array_equal(inputs[i][place], expected)
                target = vocabulary.ids([followers[place]])[0]
                assert targets[i][place] == target
            assert positions[i] == stream.position


def test_a_vocabulary_may_be_a_list_or_a_file(corpus, vocabulary, tmp_path):
    words = [word.decode() for word in vocabulary.words]
    (tmp_path / "vocab").write_text("\n".join(words) + "\n")
    for given in (words, tmp_path / "vocab", str(tmp_path / "vocab")):
        assert make_windows(corpus, given).vocabulary == vocabulary


def test_a_position_can_be_continued_from(corpus, vocabulary):
    expected = take(make_windows(corpus, vocabulary), 20)
    for i in (0, 1, 9):
        windows = make_windows(corpus, vocabulary)
        windows.restore(expected[i][2])
        found = take(windows, 5)
        for one, other in zip(found, expected[i + 1 : i + 6], strict=True):
            np.testing.assert_array_equal(one[0], other[0])
            np.testing.assert_array_equal(one[1], other[1])
            assert one[2] == other[2]


def test_windows_fetched_in_advance_do_not_move_the_position(
    corpus, vocabulary
):
    expected = [p for *_, p in take(make_windows(corpus, vocabulary), 8)]
    windows = make_windows(corpus, vocabulary)
    windows.keeps_positions = True
    list(itertools.islice(iter(windows), 8))
    assert [windows.next_position() for _ in range(5)] == expected[:5]


def test_positions_are_not_kept_unless_they_are_read(corpus, vocabulary):
    windows = make_windows(corpus, vocabulary)
    list(itertools.islice(iter(windows), 8))
    with pytest.raises(IndexError):
        windows.next_position()


def test_paths_may_be_an_iterator(corpus, vocabulary):
    paths = corpus.glob("*.txt")
    windows = LanguageModelWindows(paths, vocabulary, ROWS, STEPS)
    found = take(windows, 3)
    expected = take(make_windows(corpus, vocabulary), 3)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one[0], other[0])


def test_the_error_that_ended_it_is_kept(corpus, vocabulary):
    windows = make_windows(corpus, vocabulary)
    (corpus / "b.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"b\.txt") as info:
        take(windows, 100)
    assert windows.error is info.value


@pytest.mark.parametrize(
    "name, value", [("batch_size", 0), ("unroll_steps", 1.5), ("seed", -1)]
)
def test_arguments_are_checked(corpus, vocabulary, name, value):
    with pytest.raises(ValueError, match=f"`{name}` .* Received: {value}"):
        LanguageModelWindows(f"{corpus}/*", vocabulary, **{name: value})
