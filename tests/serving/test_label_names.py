import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.serving.label_names import LabelNames

IDS = np.array([[[1, 2], [3, 0]], [[4, 0], [0, 0]]])
SCORES = np.float32([[[0, 1], [1, 0]], [[0, 1], [0, 1]]])


def test_scores_of_words():
    labels = LabelNames({"tags": ["no", "yes"]})
    found = labels({"tags": tf.constant(SCORES)}, IDS)
    assert set(found) == {"tags_labels"}
    assert found["tags_labels"].numpy().tolist() == [
        [b"yes", b"no"],
        [b"yes", b""],
    ]


def test_numbers_of_words():
    """Values at padding need not be labels."""
    labels = LabelNames({"tags": ("no", b"yes")})
    found = labels({"tags": tf.constant([[1, 0], [1, -7]])}, IDS)
    assert found["tags_labels"].numpy().tolist() == [
        [b"yes", b"no"],
        [b"yes", b""],
    ]


def test_sentences():
    labels = LabelNames({"a": ["no", "yes"], "b": ["no", "yes"]})
    found = labels({"a": tf.constant(SCORES[0]), "b": tf.constant([0, 1])}, IDS)
    assert found["a_labels"].numpy().tolist() == [b"yes", b"no"]
    assert found["b_labels"].numpy().tolist() == [b"no", b"yes"]


def test_a_number_without_a_name_is_an_error():
    labels = LabelNames({"tags": ["no", "yes"]})
    with pytest.raises(tf.errors.InvalidArgumentError):
        labels({"tags": tf.constant([[0, 2], [0, 0]])}, IDS)


@pytest.mark.parametrize("names", [[], "names", [1, 2], [["a"], "b"]])
def test_names_that_are_none(names):
    with pytest.raises(ValueError, match="`labels` must be lists of names"):
        LabelNames({"tags": names})


@pytest.mark.parametrize(
    "output",
    [
        tf.constant(SCORES[..., :1]),
        tf.constant(SCORES[0, 0]),
        tf.constant(SCORES[None]),
        tf.constant([[["a"]]]),
        tf.constant(1),
    ],
)
def test_outputs_that_are_no_labels(output):
    labels = LabelNames({"tags": ["no", "yes"]})
    with pytest.raises(ValueError, match="To have labels, output 'tags'"):
        labels({"tags": output}, IDS)


def test_outputs_that_there_are_not():
    labels = LabelNames({"tag": ["no", "yes"]})
    with pytest.raises(ValueError, match=r"\['tags'\]. Received: \['tag'\]"):
        labels({"tags": tf.constant(SCORES)}, IDS)
