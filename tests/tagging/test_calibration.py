"""Calibration of a tagger's probabilities."""

import types

import keras
import numpy as np
import pytest
from keras.ops import convert_to_numpy as as_numpy

from keras_elmo import CRF
from keras_elmo.crf import linear_chain
from keras_elmo.ops.backends import backend
from keras_elmo.tagging.calibration import calibrate

BIO = ["O", "B-X", "I-X"]


def make_head(labels, scheme, factor):
    """A model whose scores are a multiple of its inputs."""
    vectors = keras.Input((None, len(labels)))
    mask = keras.Input((None,), dtype="bool")
    dense = keras.layers.Dense(len(labels))
    crf = CRF(len(labels), labels, scheme, transitions_initializer="zeros")
    head = keras.Model([vectors, mask], crf(dense(vectors), mask=mask))
    dense.set_weights([factor * np.eye(len(labels)), np.zeros(len(labels))])
    return head


def make_batches(labels, scheme, number, length=4):
    """Random scores, and tags that were drawn from their distribution."""
    generator = np.random.default_rng(0)
    scores = generator.normal(0, 2, (number, length, len(labels)))
    noise = generator.gumbel(size=(99, *scores.shape))
    tags = (scores + noise).argmax(axis=-1)  # (99, number, length)
    if scheme:  # The first one that the scheme allows, if there is one.
        before = np.pad(tags, ((0, 0), (0, 0), (1, 0)))[:, :, :-1]
        allowed = np.all((tags != 2) | (before > 0), axis=2)
        found = allowed.any(axis=0)
        tags = tags[allowed.argmax(axis=0), np.arange(number)][found]
        scores = scores[found]
    else:
        tags = tags[0]
    x = scores.astype("float32"), np.ones(tags.shape, "bool")
    return types.SimpleNamespace(
        tags=[[labels[i] for i in row] for row in tags],
        predict=lambda function: run(function, *x),
        inputs=[*x],
    )


def run(function, *x):
    with backend().inference():
        return as_numpy(function(*x))


def best_tags(head, batches):
    return run(lambda *x: linear_chain.best_tags(head(x)), *batches.inputs)


@pytest.mark.parametrize("factor", [0.8, 1.0, 2.5])
@pytest.mark.parametrize(
    ("labels", "scheme"), [(BIO, "BIO"), (["NOUN", "VERB", "ADJ", "ADV"], None)]
)
def test_the_temperature_is_found(labels, scheme, factor):
    batches = make_batches(labels, scheme, 3000)
    head = make_head(labels, scheme, factor)
    before = best_tags(head, batches)
    found = calibrate(head, batches, labels, scheme)
    assert found == pytest.approx(factor, rel=0.1)
    np.testing.assert_array_equal(best_tags(head, batches), before)
    fixed = make_head(labels, scheme, factor / found)
    for x, y in zip(fixed.get_weights(), head.get_weights(), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5)


def test_few_sentences_change_little():
    batches = make_batches(BIO, "BIO", 2)
    head = make_head(BIO, "BIO", 1.0)
    # All of them are right.
    tags = best_tags(head, batches)
    batches.tags = [[BIO[i] for i in row] for row in tags]
    assert {"B-X"} <= {*batches.tags[0], *batches.tags[1]}
    assert 0.6 < calibrate(head, batches, BIO, "BIO") < 1


def test_without_entities_nothing_changes():
    batches = make_batches(BIO, "BIO", 2)
    batches.inputs[0][:] = [9, 0, 0]
    head = make_head(BIO, "BIO", 1.0)
    before = head.get_weights()
    assert calibrate(head, batches, BIO, "BIO") == 1
    np.testing.assert_equal(head.get_weights(), before)
