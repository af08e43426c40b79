import keras
import numpy as np
import pytest
from comparisons import assert_close
from comparisons import assert_equal
from small_models import make_shallow_elmo

from keras_elmo import ElmoEmbedder
from keras_elmo import SentencePooling
from keras_elmo import batch_to_ids

modes = pytest.mark.parametrize("mode", ["mean", "max"])
DOCUMENTS = [
    [["A", "good", "film"], ["Dull", "."]],
    [[], ["So", "so", ",", "but", "long"]],
    [],
]


def document_ids():
    """Returns ids `(3, 2, 5, 12)`; there is no sentence where none is given."""
    ids = np.zeros((3, 2, 5, 12), "int32")
    for document, sentences in zip(ids, DOCUMENTS):
        for place, sentence in zip(document, sentences):
            place[: len(sentence)] = batch_to_ids([sentence], 12)[0]
    return ids


@modes
@pytest.mark.parametrize("shape", [(4, 5, 3), (2, 2, 5, 3), (1, 2, 2, 5, 3)])
def test_equals_numpy_at_any_rank(mode, shape):
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    mask = np.arange(5) < np.array([5, 0, 2, 1])[:, None]
    mask[2] = [False, True, False, True, False]
    expected = [
        getattr(words[is_word], mode)(axis=0) if is_word.any() else 0 * words[0]
        for words, is_word in zip(x.reshape(4, 5, 3), mask)
    ]
    mask = mask.reshape(shape[:-1])
    x[~mask] = np.nan  # Masked words have no effect.
    pooled = SentencePooling(mode)(x, mask=mask)
    assert_close(pooled, np.reshape(expected, (*shape[:-2], 3)), atol=1e-6)


@modes
@pytest.mark.parametrize("shape", [(2, 0, 3), (0, 2, 3)])
def test_nothing_to_pool(mode, shape):
    pooled = SentencePooling(mode)(np.ones(shape, "float32"))
    assert_equal(pooled, np.zeros((shape[0], 3)))


# Keras' `GlobalAveragePooling1D` makes the loss and all weights NaN here.
@modes
def test_an_empty_text_in_a_batch(mode):
    ids = keras.Input((None, 12), dtype="int32")
    pooled = SentencePooling(mode)(make_shallow_elmo()(ids))
    model = keras.Model(ids, keras.layers.Dense(2)(pooled))
    x = batch_to_ids([["A", "good", "film"], ["Dull", "."], [], ["So"]], 12)
    before = model.predict(x, verbose=0)
    model.compile("sgd", "mse")
    loss = model.train_on_batch(x, np.ones((4, 2)))
    # The empty text counts, with the bias alone.
    assert_close(loss, np.mean((before - 1) ** 2), rtol=1e-5)
    assert_equal(before[2], [0, 0])
    assert all(np.isfinite(w).all() for w in model.get_weights())
    assert model.get_weights()[-1].all()  # The bias was trained.


def test_documents_of_sentences():
    elmo, pooling = make_shallow_elmo(), SentencePooling()
    expected = [[True, True], [False, True], [False, False]]
    assert_equal(pooling(elmo(document_ids()))._keras_mask, np.array(expected))
    lstm = keras.layers.LSTM(5)  # As many units as a sentence has words.
    ids = keras.Input((None, None, 12), dtype="int32")
    model = keras.Model(ids, lstm(pooling(elmo(ids))))
    found = model.predict(document_ids(), verbose=0)
    for sentences, vector in zip(DOCUMENTS, found):
        sentences = [sentence for sentence in sentences if sentence]
        if not sentences:  # The LSTM's zero state.
            assert_equal(vector, np.zeros(5))
            continue
        one = pooling(elmo(batch_to_ids(sentences, 12)))  # (sentences, width)
        assert_close(lstm(one[None])[0], vector, atol=1e-6)


def test_equals_the_vectors_of_the_embedder():
    elmo = make_shallow_elmo()
    sentences = [["A", "good", "film"], [], ["Dull", "."]]
    pooled = SentencePooling()(elmo(batch_to_ids(sentences, 12)))
    embedder = ElmoEmbedder(elmo, layers="mix")
    vectors = list(embedder.embed_sentence_vectors(sentences))
    assert_close(pooled, vectors, atol=1e-6)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match=r"`mode` must be one of .* 'sum'"):
        SentencePooling("sum")
    with pytest.raises(ValueError, match=r"must have the shape \(2, 3\)"):
        SentencePooling()(np.ones((2, 3, 4)), mask=np.ones((3, 2), bool))
