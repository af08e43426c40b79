"""Requests from many threads to one loaded model."""

import random
from concurrent import futures

import numpy as np
import pytest
import tensorflow as tf
from serving.answers import padded

from keras_elmo import batch_to_ids

WORDS = ["the", "cat", "sat", "é", "東京", "", "x" * 20, "\N{GRINNING FACE}"]
REQUESTS, THREADS = 100, 8


def make_request(generator):
    """Returns a signature name, and 1 to 8 sentences of 0 to 9 words."""
    signature = generator.choice(["default", "tokens", "character_ids"])
    words = [word for word in WORDS if word or signature != "default"]
    sentences = [
        generator.choices(words, k=generator.randint(0, 9))
        for _ in range(generator.randint(1, 8))
    ]
    if signature == "default":
        return signature, {"strings": [" ".join(s) for s in sentences]}
    if signature == "tokens":
        inputs = padded(sentences)
        # TensorFlow cannot infer the type of rows without words.
        inputs["tokens"] = np.array(inputs["tokens"], object)
        return signature, inputs
    return signature, {"ids": batch_to_ids(sentences, 12)}


@pytest.mark.exhaustive
def test_every_answer_is_that_of_the_request_alone(exported):
    signatures = tf.saved_model.load(exported).signatures

    def answer(request):
        name, inputs = request
        dtypes = {"strings": tf.string, "tokens": tf.string}
        tensors = {
            key: tf.constant(value, dtypes.get(key, tf.int32))
            for key, value in inputs.items()
        }
        outputs = signatures[name](**tensors)
        return {key: x.numpy() for key, x in outputs.items()}

    generator = random.Random(0)
    requests = [make_request(generator) for _ in range(REQUESTS)]
    alone = list(map(answer, requests))
    with futures.ThreadPoolExecutor(THREADS) as pool:
        together = list(pool.map(answer, requests))
    assert len({name for name, _ in requests}) == 3
    for found, expected in zip(together, alone, strict=True):
        assert set(found) == set(expected)
        for name, x in expected.items():
            np.testing.assert_allclose(found[name], x, atol=1e-5)
    assert sum(x["elmo"].any() for x in alone) > 0.9 * REQUESTS
