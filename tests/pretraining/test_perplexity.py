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
from pretraining.test_numbered_text import sentences_of

from keras_elmo import batch_to_ids
from keras_elmo.pretraining import perplexity as module
from keras_elmo.pretraining.numbered_text import NumberedText
from keras_elmo.pretraining.numbered_text import WordNumbers
from keras_elmo.pretraining.perplexity import Evaluator
from keras_elmo.pretraining.perplexity import Perplexity
from keras_elmo.pretraining.text_windows import stream_windows
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
TOKENS = sum(len(sentence) + 1 for sentence in TEXT)


def make_new(**kwargs):
    return make_model(words=len(WORDS), **kwargs)


@functools.cache
def make():
    """Returns a model that tests share and must not change."""
    return make_new()


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
    make_with_words.cache_clear()
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


def test_stream_carries_its_state():
    model = make()
    expected = oracle(model, [TEXT])
    assert expected.tokens == TOKENS
    got = evaluate(model)
    check(got, expected)
    # Here the two directions differ, and so do the two procedures.
    assert got.forward != pytest.approx(got.backward, rel=1e-2)
    alone = oracle(model, [[sentence] for sentence in TEXT])
    assert got.perplexity != pytest.approx(alone.perplexity, rel=1e-2)


@pytest.mark.slow_on_jax
def test_sentences_start_from_zero():
    model = make()
    got = evaluate(model, TEXT, "sentences")
    check(got, oracle(model, [[sentence] for sentence in TEXT]))
    for sentence in TEXT[:3]:
        alone = evaluate(model, [sentence], "sentences")
        check(evaluate(model, [sentence]), alone)


@functools.cache
def make_with_words():
    model = make_new()
    model.words = [word.decode() for word in WORDS]
    return model


def test_log_probabilities_are_those_of_each_sentence(monkeypatch):
    model = make_with_words()
    expected = []
    for words in TEXT:
        one = oracle(model, [[words]])
        logs = np.log([one.forward, one.backward])
        expected.append(-logs * one.tokens)
    strings = [[word.decode() for word in words] for words in TEXT]
    # The windows are sorted by length; the results are in the text's order.
    for limit in (module._MAX_TOKENS, 8):
        monkeypatch.setattr(module, "_MAX_TOKENS", limit)
        for text in (strings, iter(TEXT)):
            got = model.log_probabilities(text)
            assert got.dtype == "float32"
            np.testing.assert_allclose(got, expected, rtol=1e-5)
    assert model.log_probabilities([]).shape == (0, 2)


def test_perplexity_is_that_of_the_procedure_sentences():
    model = make_with_words()
    got = model.perplexity(TEXT)
    assert type(got) is float
    expected = evaluate(make(), TEXT, "sentences").perplexity
    assert got == pytest.approx(expected, rel=1e-6)
    total = model.log_probabilities(TEXT).sum()
    assert got == pytest.approx(np.exp(-total / (2 * TOKENS)), rel=1e-5)


def test_words_may_be_set_later():
    model = make_with_words()
    first = model.perplexity(TEXT)
    words = model.words
    model.words = [*words[:-1], "other"]
    assert model.words[-1] == "other"
    with pytest.warns(match=r"has 71\.4% of the text's words\. The"):
        assert model.perplexity(TEXT) != first
    model.words = words
    assert model.perplexity(TEXT) == first
    with pytest.raises(ValueError, match="Received: 1 words"):
        model.words = ["a"]
    assert model.words == words


def test_probabilities_need_words_and_sentences():
    for measure in (make().perplexity, make().log_probabilities):
        with pytest.raises(ValueError, match=r"words=None\. Load it with"):
            measure(TEXT)
    model = make_with_words()
    for measure in (model.perplexity, model.log_probabilities):
        with pytest.raises(ValueError, match="must be a list of words"):
            measure(["the cat sat"])
    with pytest.raises(ValueError, match=r"has 0\.0% of the text's words"):
        model.perplexity([["A", "mouse"]])
    with pytest.raises(ValueError, match="at least one sentence"):
        model.perplexity([])


@pytest.mark.parametrize("procedure", ["stream", "sentences"])
@pytest.mark.slow_on_jax
def test_windows_make_no_difference(monkeypatch, procedure):
    evaluator = evaluator_of(make(), procedure)
    expected = evaluator.evaluate(TEXT)
    for name, value in (
        ("_MAX_STEPS", 1),
        ("_MAX_STEPS", 3),
        ("_MAX_TOKENS", 3),
        ("_MAX_LOGITS", 3 * len(WORDS)),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, value)
            check(evaluator.evaluate(TEXT), expected)


# The rows and the steps are filled up on JAX.
@pytest.mark.parametrize(
    "rows", [3, pytest.param(9, marks=pytest.mark.slow_on_jax)]
)
def test_rows_count_each_token_once(monkeypatch, rows):
    monkeypatch.setattr(module, "_MAX_STEPS", 4)
    model = make()
    got = evaluate(model, TEXT, "stream", rows)
    assert got.tokens == TOKENS
    # The oracle reads each row of these windows as one stream.
    streams = [[] for _ in range(rows)]
    words = WordNumbers()
    numbered = list(map(words.numbers_of, TEXT))
    for window in stream_windows(numbered, rows, 4):
        for row, is_real in enumerate(window.is_real):
            streams[row].extend(window.inputs[0, row, is_real].tolist())
    sentences = [
        sentences_of(NumberedText(words.words, np.array(row), []))
        for row in streams
        if row
    ]
    assert sorted(chain(*sentences)) == sorted(TEXT)
    check(got, oracle(model, sentences))


def test_dropout_and_candidates_have_no_part():
    expected = evaluate(make())
    assert evaluate(make_new(dropout=0.9, num_negatives=1)) == expected


@pytest.mark.slow_on_jax
def test_an_evaluator_can_be_used_again():
    model = make_new()
    evaluator = Evaluator(model, VOCABULARY)
    first = evaluator.evaluate(TEXT)
    evaluator.evaluate(TEXT[:2])
    assert evaluator.evaluate(iter(TEXT)) == first
    # It sees changes made by training.
    model.softmax.bias.assign(np.arange(len(WORDS)) / 3)
    kernel = model.encoder.forward_cells[0].kernel
    kernel.assign(-ops.convert_to_numpy(kernel))
    check(evaluator.evaluate(TEXT), oracle(model, [TEXT]))


@pytest.mark.slow_on_jax
def test_progress(monkeypatch):
    evaluator = evaluator_of(make(), "stream", 2)
    done = []
    evaluator.evaluate(TEXT, done.append)
    assert done == [TOKENS]
    monkeypatch.setattr(module, "_MAX_STEPS", 5)
    done.clear()
    evaluator.evaluate(TEXT, done.append)
    assert done == sorted(done) and done[0] == 10 and done[-1] == TOKENS


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
    assert got.tokens == 1
    check(got, oracle(model, [[[]]]))


def test_only_some_words_count():
    model = make()
    words = [b"<UNK>", b"the", b"<S>", b"sat", b"</S>", b"ran"]
    counted = functools.partial(word_or_unknown, words=words)
    got = evaluate(model, TEXT, counted=frozenset(words))
    check(got, oracle(model, [TEXT], counted))
    assert got.perplexity < 0.9 * evaluate(model).perplexity
    # Only the boundaries and the unknown word: the next word is more certain.
    marks = frozenset(words[::2])
    assert evaluate(model, TEXT, counted=marks).perplexity < got.perplexity
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
