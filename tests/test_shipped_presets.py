"""`english_mini`, the biLM in the package, and the one of the tests."""

import pytest
from small_models import ENGLISH_TINY

from keras_elmo import BidirectionalLanguageModel
from keras_elmo.pretraining.corpus_shards import read_sentences
from keras_elmo.pretraining.model_files import load_language_model
from keras_elmo.pretraining.perplexity import Evaluator


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
