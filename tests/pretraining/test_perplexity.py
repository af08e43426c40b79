import functools
from itertools import chain
from itertools import pairwise

import numpy as np
import pytest
from keras import ops
from pretraining.small_language_models import CHARACTERS
from pretraining.small_language_models import make_model
from pretraining.small_language_models import oracle_hidden
from pretraining.small_language_models import oracle_logits

from keras_elmo import batch_to_ids
from keras_elmo.pretraining import perplexity as module
from keras_elmo.pretraining.perplexity import Evaluator
from keras_elmo.pretraining.perplexity import Perplexity
from keras_elmo.text.vocabulary import Vocabulary

WORDS = [b"<S>", b"</S>", b"<UNK>", b"the", b"cat", b"sat", b"dog", b"ran"]
VOCABULARY = Vocabulary(WORDS)
# The mouse is not a known word.
LINES = b"""the cat sat
the mouse ran the cat ran the dog ran

dog
sat the cat the dog sat
ran ran"""
TEXT = [line.split() for line in LINES.split(b"\n")]
ALONE = [[sentence] for sentence in TEXT]
TOKENS = sum(len(sentence) + 1 for sentence in TEXT)


def make_new(**kwargs):
    return make_model(words=len(WORDS), **kwargs)


@functools.cache
def make():
    """Returns a model that tests share and must not change."""
    model = make_new()
    model.words = [word.decode() for word in WORDS]
    return model


@functools.cache
def evaluator_of(model, *args, counted=None):
    return Evaluator(model, VOCABULARY, *args, counted=counted)


def evaluate(model, text=TEXT, *args, counted=None):
    return evaluator_of(model, *args, counted=counted).evaluate(text)


@pytest.fixture(scope="module", autouse=True)
def forgotten():
    """Frees the shared models."""
    yield
    make.cache_clear()
    evaluator_of.cache_clear()


def word_or_unknown(word, words=WORDS):
    return word if word in words else b"<UNK>"


def losses_of_row(model, inputs, targets, direction, counted):
    """Returns all losses of a row that is read from start to end."""
    ids = batch_to_ids([inputs], CHARACTERS)[0]
    hidden, _ = oracle_hidden(model, ids, direction)
    odds = np.exp(oracle_logits(model, hidden))
    right = [
        [counted(word) == counted(target) for word in WORDS]
        for target in targets
    ]
    return np.log(odds.sum(axis=-1) / (odds * right).sum(axis=-1))


def oracle(model, rows, counted=word_or_unknown):
    """Returns the perplexities if each row, a list of sentences, is one stream.

    `counted` maps a word to the word that it counts as.
    """
    means, count = [], None
    for d in range(2):
        losses = []
        for sentences in rows:
            pairs = chain(*(pairs_of(s, d) for s in sentences))
            inputs, targets = map(list, zip(*pairs))
            losses.extend(losses_of_row(model, inputs, targets, d, counted))
        means.append(np.mean(losses))
        count = len(losses)
    return Perplexity(np.exp(np.mean(means)), *np.exp(means), count)


def pairs_of(sentence, is_backward):
    """Returns the inputs of a sentence, each with its target."""
    words = [b"<S>", *sentence, b"</S>"]
    return pairwise(words[::-1] if is_backward else words)


def check(got, expected, tolerance=1e-5):
    assert type(got) is Perplexity
    assert all(type(x) is float for x in got[:3]) and type(got.tokens) is int
    assert got.tokens == expected.tokens
    np.testing.assert_allclose(got, expected, rtol=tolerance)


def test_probabilities_are_those_of_each_sentence(monkeypatch):
    model = make()
    each = [oracle(model, [[words]]) for words in TEXT]
    expected = [
        [-x.tokens * np.log(y) for y in (x.forward, x.backward)] for x in each
    ]
    strings = [[word.decode() for word in words] for words in TEXT]
    # The windows are sorted by length; the results are in the text's order.
    for limit in (module._MAX_TOKENS, 8):
        monkeypatch.setattr(module, "_MAX_TOKENS", limit)
        for text in (strings, iter(TEXT)):
            got = model.log_probabilities(text)
            assert got.dtype == "float32"
            np.testing.assert_allclose(got, expected, rtol=1e-5)
    assert model.log_probabilities([]).shape == (0, 2)
    found = evaluate(model, TEXT, "sentences")
    check(found, oracle(model, ALONE))
    assert model.perplexity(TEXT) == pytest.approx(found.perplexity, rel=1e-6)


def test_words_may_be_set_later():
    model = make_new()
    model.words = make().words
    first = model.perplexity(TEXT)
    model.words = [*model.words[:-1], "other"]
    with pytest.warns(match=r"has 71\.4% of the text's words\. The"):
        assert model.perplexity(TEXT) != first
    with pytest.raises(ValueError, match="Received: 1 words"):
        model.words = ["a"]
    assert model.words[-1] == "other"


def test_probabilities_need_words_and_sentences():
    for model, text, told in (
        (make_new(), TEXT, r"words=None\. Load it with"),
        (make(), ["the cat sat"], "list of words.*text.tokenize"),
        (make(), [["A", "mouse"]], r"has 0\.0% of the text's words"),
        (make(), [], "at least one sentence"),
    ):
        with pytest.raises(ValueError, match=told):
            model.perplexity(text)


@pytest.mark.parametrize("procedure", ["stream", "sentences"])
@pytest.mark.slow_on_jax
def test_windows_make_no_difference(monkeypatch, procedure):
    evaluator = evaluator_of(make(), procedure)
    expected = evaluator.evaluate(TEXT)
    for name, value in (
        ("_MAX_STEPS", 3),
        ("_MAX_TOKENS", 3),
        ("_MAX_LOGITS", 3 * len(WORDS)),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, value)
            check(evaluator.evaluate(TEXT), expected)


# A row whose sentences end before a window does takes the next one.
IN_NINE = [TEXT[:1], TEXT[1:2], TEXT[2:5], TEXT[5:]]
IN_THREE = [TEXT[:6:5], TEXT[1:2], TEXT[2:5]]


# The rows and the steps are filled up on JAX.
@pytest.mark.parametrize(
    "rows, streams",
    [(3, IN_THREE), pytest.param(9, IN_NINE, marks=pytest.mark.slow_on_jax)],
)
def test_each_row_is_a_stream(monkeypatch, rows, streams):
    monkeypatch.setattr(module, "_MAX_STEPS", 4)
    done = []
    evaluator = evaluator_of(make(), "stream", rows)
    check(evaluator.evaluate(TEXT, done.append), oracle(make(), streams))
    # The first windows of three rows are full.
    assert rows > 3 or done[0] == 12
    assert done == sorted(done) and done[-1] == TOKENS


def test_dropout_and_candidates_have_no_part():
    expected = evaluate(make())
    assert evaluate(make_new(dropout=0.9, num_negatives=1)) == expected


@pytest.mark.slow_on_jax
def test_an_evaluator_can_be_used_again():
    model = make_new()
    evaluator = Evaluator(model, VOCABULARY)
    first = evaluator.evaluate(TEXT)
    assert evaluator.evaluate(iter(TEXT)) == first
    # It sees changes made by training.
    model.softmax.bias.assign(np.arange(len(WORDS)) / 3)
    kernel = model.encoder.forward_cells[0].kernel
    kernel.assign(-ops.convert_to_numpy(kernel))
    check(evaluator.evaluate(TEXT), oracle(model, [TEXT]))


def test_useless_model():
    # A loss of more than 709 nats has no finite perplexity.
    model = make_new()
    model.softmax.bias.assign(2000.0 * (np.arange(len(WORDS)) == 2))
    got = evaluate(model, [[b"the"]])
    assert got.perplexity == got.forward == got.backward == np.inf


@pytest.mark.parametrize("procedure", ["stream", "sentences"])
def test_one_empty_sentence(procedure):
    model = make()
    got = evaluate(model, [[]], procedure)
    check(got, oracle(model, [[[]]]))


def test_only_some_words_count():
    model = make()
    words = [b"<UNK>", b"the", b"<S>", b"sat", b"</S>", b"ran"]
    counted = functools.partial(word_or_unknown, words=words)
    got = evaluate(model, TEXT, counted=frozenset(words))
    check(got, oracle(model, [TEXT], counted))
    same = evaluate(model, TEXT, counted=frozenset(WORDS))
    check(same, evaluate(model))


def test_words_that_count_must_be_the_models():
    words = {*WORDS, b"w\xc3\xa4", b"a"}
    match = "words that the model predicts.* 2 others, such as a, w\u00e4"
    with pytest.raises(ValueError, match=match):
        Evaluator(make(), VOCABULARY, counted=words)


@pytest.mark.slow_on_jax
def test_half_precision():
    got = evaluate(make_new(dtype="mixed_bfloat16"))
    check(got, evaluate(make()), 0.05)
