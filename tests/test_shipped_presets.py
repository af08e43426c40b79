"""The model that ships with the package."""

import os
import pathlib

import numpy as np
import pytest

from keras_elmo import PRESETS
from keras_elmo import ElmoLayer
from keras_elmo import batch_to_ids
from keras_elmo.pretraining.corpus_shards import read_sentences
from keras_elmo.pretraining.model_files import load_language_model
from keras_elmo.pretraining.perplexity import Evaluator


@pytest.fixture(scope="module")
def folder():
    return pathlib.Path(PRESETS["english_tiny"].path)


def test_it_is_small(folder):
    size = sum(os.path.getsize(path) for path in folder.iterdir())
    assert size < 16e6


def test_layer():
    elmo = ElmoLayer.from_preset("english_tiny")
    ids = batch_to_ids([["Birds", "sing", "."], ["Yes", "!"]])
    vectors = np.asarray(elmo(ids))
    assert vectors.shape == (2, 3, 256)
    assert not vectors[1, 2].any() and vectors[1, :2].any()
    assert elmo.count_params() == 2_996_436


def test_context_tells_the_two_meanings_apart():
    elmo = ElmoLayer.from_preset("english_tiny")
    sentences = [
        "They sat on the bank of the river .",
        "We stood on the bank of the stream .",
        "She has a savings bank account .",
    ]
    words = [sentence.split() for sentence in sentences]
    layers = np.asarray(elmo.all_layers(batch_to_ids(words)))
    river, stream, savings = (
        layers[i, 2, sentence.index("bank")] for i, sentence in enumerate(words)
    )

    def cosine(a, b):
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    assert cosine(river, stream) > cosine(river, savings) + 0.2


@pytest.mark.exhaustive
def test_perplexity(shared):
    """Only of the first 300 sentences; the model card has that of all."""
    sentences = read_sentences(shared / "data/english_lm/heldout.txt")[:300]
    model, vocabulary, _ = load_language_model("english_tiny")
    found = Evaluator(model, vocabulary).evaluate(sentences)
    assert found.perplexity < 85
