"""`english_mini`, the biLM in the package, and the one of the tests."""

import numpy as np
import pytest
from small_models import ENGLISH_TINY

from keras_elmo import PRESETS
from keras_elmo import BidirectionalLanguageModel
from keras_elmo import ElmoLayer
from keras_elmo import batch_to_ids
from keras_elmo.pretraining.corpus_shards import read_sentences
from keras_elmo.pretraining.model_files import load_language_model
from keras_elmo.pretraining.perplexity import Evaluator


def test_context_tells_the_two_meanings_apart():
    shipped = {name for name, preset in PRESETS.items() if preset.path}
    assert shipped == {"english_mini"}
    elmo = ElmoLayer.from_preset("english_mini")
    sentences = [
        "They sat on the bank of the river .",
        "We stood on the bank of the stream .",
        "She has a savings bank account .",
    ]
    words = [sentence.split() for sentence in sentences]
    layers = np.asarray(elmo.all_layers(batch_to_ids(words)))
    banks = [layers[i, 2, x.index("bank")] for i, x in enumerate(words)]
    river, stream, savings = (x / np.linalg.norm(x) for x in banks)
    assert river @ stream > river @ savings + 0.2
    assert elmo.count_params() == 5_421_396


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "model, text, most",
    [
        ("english_mini", "english_lm_large/heldout_modern.txt", 54),
        (ENGLISH_TINY, "english_lm/heldout.txt", 85),
    ],
)
def test_perplexity(shared, model, text, most):
    """Of the first 300 sentences: the model cards have that of all."""
    sentences = read_sentences(shared / "data" / text)[:300]
    language_model, vocabulary = load_language_model(
        BidirectionalLanguageModel, model
    )
    found = Evaluator(language_model, vocabulary).evaluate(sentences)
    assert found.perplexity < most
