import itertools

import numpy as np
import pytest
import tensorflow as tf

from keras_elmo import batch_to_ids
from keras_elmo.pretraining import training_windows as module
from keras_elmo.pretraining.token_streams import DIRECTIONS
from keras_elmo.pretraining.token_streams import TokenStream
from keras_elmo.pretraining.training_windows import training_windows
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


def make_streams(folder, **arguments):
    return [
        TokenStream(f"{folder}/*.txt", direction, ROWS, STEPS, **arguments)
        for direction in DIRECTIONS
    ]


def take(windows, count):
    return [
        (window.inputs.numpy(), window.targets.numpy(), window.positions)
        for window in itertools.islice(windows, count)
    ]


@pytest.mark.parametrize("width", [50, 8, None])
def test_windows_are_the_streams_encoded(corpus, vocabulary, width):
    windows = training_windows(make_streams(corpus), vocabulary, width)
    streams = make_streams(corpus)
    for inputs, targets, positions in take(windows, 30):
        assert inputs.dtype == targets.dtype == "int32"
        for i, stream in enumerate(streams):
            words, followers = stream.next_window()
            for place in np.ndindex(ROWS, STEPS):
                if width is None:
                    expected = vocabulary.ids([words[place]])[0] + 1
                else:
                    expected = batch_to_ids([[words[place]]], width)[0, 0]
                np.testing.assert_array_equal(inputs[i][place], expected)
                target = vocabulary.ids([followers[place]])[0]
                assert targets[i][place] == target
            assert positions[i] == stream.position


@pytest.mark.parametrize("width, shape", [(20, (20,)), (None, ())])
def test_shapes_are_known(corpus, vocabulary, width, shape):
    window = next(training_windows(make_streams(corpus), vocabulary, width))
    assert window.inputs.shape == (2, ROWS, STEPS, *shape)
    assert window.targets.shape == (2, ROWS, STEPS)


def test_a_windows_positions_can_be_gone_on_from(corpus, vocabulary):
    expected = take(training_windows(make_streams(corpus), vocabulary), 20)
    for i in (0, 1, 9):
        streams = make_streams(corpus)
        for stream, position in zip(streams, expected[i][2]):
            stream.restore(position)
        found = take(training_windows(streams, vocabulary), 5)
        for one, other in zip(found, expected[i + 1 : i + 6], strict=True):
            np.testing.assert_array_equal(one[0], other[0])
            np.testing.assert_array_equal(one[1], other[1])
            assert one[2] == other[2]


def test_a_streams_error_comes_out_as_it_is(corpus, vocabulary):
    windows = training_windows(make_streams(corpus, shuffle=False), vocabulary)
    (corpus / "b.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"b\.txt"):
        take(windows, 100)


def test_other_errors_of_tensorflow_are_not_hidden(
    corpus, vocabulary, monkeypatch
):
    monkeypatch.setattr(module.ByteSpelling, "ids_in_graph", fail_in_graph)
    with pytest.raises(tf.errors.InvalidArgumentError, match="no such words"):
        next(training_windows(make_streams(corpus), vocabulary))


def fail_in_graph(spelling, words):
    with tf.control_dependencies(
        [tf.debugging.assert_equal(tf.size(words), -1, "no such words")]
    ):
        shape = (tf.size(words), *spelling.token_shape)
        return tf.zeros(shape, tf.int32)
