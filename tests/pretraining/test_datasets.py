import itertools

import numpy as np
import pytest
import tensorflow as tf

from keras_elmo import batch_to_ids
from keras_elmo.pretraining.datasets import WindowDataset
from keras_elmo.pretraining.datasets import make_dataset
from keras_elmo.pretraining.token_streams import DIRECTIONS
from keras_elmo.pretraining.token_streams import TokenStream
from keras_elmo.text.vocabulary import Vocabulary

ROWS, STEPS = 6, 7


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "a.txt").write_bytes(
        b"the cat sat\n\nA\0 \0 \xff\xfe the\n" + b"long" * 20 + b" <S> cat\n"
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


def take(dataset, count):
    return [
        {name: tensor.numpy() for name, tensor in window.items()}
        for window in itertools.islice(dataset, count)
    ]


def assert_same(first, second):
    assert len(first) == len(second)
    for one, other in zip(first, second):
        for name in one:
            np.testing.assert_array_equal(one[name], other[name], name)


@pytest.mark.parametrize("width", [50, 8, None])
def test_elements_are_the_streams_windows_encoded(corpus, vocabulary, width):
    dataset = WindowDataset(make_streams(corpus), vocabulary, width)
    streams = make_streams(corpus)
    for window in take(dataset, 30):
        for i, stream in enumerate(streams):
            inputs, targets = stream.next_window()
            for place in np.ndindex(ROWS, STEPS):
                if width is None:
                    expected = vocabulary.ids([inputs[place]])[0] + 1
                else:
                    expected = batch_to_ids([[inputs[place]]], width)[0, 0]
                found = window["inputs"][i][place]
                np.testing.assert_array_equal(found, expected)
                target = vocabulary.ids([targets[place]])[0]
                assert window["targets"][i][place] == target
            np.testing.assert_array_equal(
                window["position"][i], stream.position
            )


@pytest.mark.parametrize("width, shape", [(20, (20,)), (None, ())])
def test_shapes_are_known(corpus, vocabulary, width, shape):
    dataset = make_dataset(make_streams(corpus), vocabulary, width)
    shape = (2, ROWS, STEPS, *shape)
    assert dataset.element_spec == {
        "inputs": tf.TensorSpec(shape, tf.int32),
        "targets": tf.TensorSpec((2, ROWS, STEPS), tf.int32),
        "position": tf.TensorSpec((2, ROWS + 2, 5), tf.int64),
    }


def test_each_iteration_starts_where_the_streams_stood(corpus, vocabulary):
    streams = make_streams(corpus)
    everything = take(make_dataset(streams, vocabulary), 25)
    for stream in streams:
        stream.next_window()
        stream.next_window()
    dataset = WindowDataset(streams, vocabulary)
    streams[0].next_window()  # Is no longer looked at.
    assert_same(take(dataset, 20), everything[2:22])
    assert_same(take(dataset, 20), everything[2:22])
    # Two at a time.
    first, second = iter(dataset), iter(dataset)
    for expected in everything[2:12]:
        assert_same(take(first, 1), [expected])
        assert_same(take(second, 1), [expected])


def test_an_elements_position_can_be_gone_on_from(corpus, vocabulary):
    expected = take(make_dataset(make_streams(corpus), vocabulary), 20)
    for i in (0, 1, 9):
        streams = make_streams(corpus)
        for stream, position in zip(streams, expected[i]["position"]):
            stream.restore(position)
        found = take(make_dataset(streams, vocabulary), 5)
        assert_same(found, expected[i + 1 : i + 6])


def test_a_streams_error_comes_out_as_it_is(corpus, vocabulary):
    dataset = WindowDataset(make_streams(corpus, shuffle=False), vocabulary)
    (corpus / "b.txt").unlink()
    for _ in range(2):
        with pytest.raises(FileNotFoundError, match=r"b\.txt"):
            take(dataset, 100)
    errors = []
    plain = make_dataset(
        make_streams(corpus), vocabulary, on_error=errors.append
    )
    (corpus / "a.txt").write_bytes(b"")
    with pytest.raises(tf.errors.OpError):
        take(plain, 100)
    assert [type(error) for error in errors] == [ValueError]


def test_other_errors_of_tensorflow_are_not_hidden(corpus, vocabulary):
    dataset = WindowDataset(make_streams(corpus), vocabulary)
    dataset.dataset = dataset.dataset.map(
        lambda window: tf.debugging.check_numerics(
            tf.cast(window["targets"], "float32") / 0.0, "not a number"
        )
    )
    with pytest.raises(tf.errors.InvalidArgumentError):
        list(dataset)


def test_streams_are_checked(corpus, vocabulary):
    forward, backward = make_streams(corpus)
    shorter = TokenStream(f"{corpus}/*", "backward", ROWS, STEPS - 1)
    for streams in ([backward, forward], [forward], [forward, shorter]):
        with pytest.raises(ValueError, match="`streams` must be a forward"):
            make_dataset(streams, vocabulary)
