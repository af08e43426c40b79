"""The models that ship with the package."""

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

NAMES = ("english_mini", "english_tiny")


def test_names():
    """Lists all of them, as the tests below take their names from here."""
    shipped = {name for name, preset in PRESETS.items() if preset.path}
    assert shipped == set(NAMES)


@pytest.mark.parametrize(
    "name, megabytes", [("english_mini", 30), ("english_tiny", 16)]
)
def test_size(name, megabytes):
    folder = pathlib.Path(PRESETS[name].path)
    size = sum(os.path.getsize(path) for path in folder.iterdir())
    assert size < 1e6 * megabytes


@pytest.mark.parametrize(
    "name, width, parameters",
    [("english_mini", 512, 5_421_396), ("english_tiny", 256, 2_996_436)],
)
def test_layer(name, width, parameters):
    elmo = ElmoLayer.from_preset(name)
    ids = batch_to_ids([["Birds", "sing", "."], ["Yes", "!"]])
    vectors = np.asarray(elmo(ids))
    assert vectors.shape == (2, 3, width)
    assert not vectors[1, 2].any() and vectors[1, :2].any()
    assert elmo.count_params() == parameters


@pytest.mark.parametrize("name", NAMES)
def test_context_tells_the_two_meanings_apart(name):
    elmo = ElmoLayer.from_preset(name)
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
@pytest.mark.parametrize(
    "name, text, most",
    [
        ("english_mini", "english_lm_large/heldout_modern.txt", 65),
        ("english_tiny", "english_lm/heldout.txt", 85),
    ],
)
def test_perplexity(shared, name, text, most):
    """Only of the first 300 sentences; the model cards have that of all."""
    sentences = read_sentences(shared / "data" / text)[:300]
    model, vocabulary = load_language_model(name)
    found = Evaluator(model, vocabulary).evaluate(sentences)
    assert found.perplexity < most
