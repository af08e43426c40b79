"""Word vectors, looked up by character ids."""

import types

import keras
import numpy as np
import pytest
from comparisons import assert_equal
from doc_snippets import read_blocks
from doc_snippets import run_blocks
from keras import ops
from small_models import make_shallow_elmo
from tiers import quick_first

import keras_elmo
from keras_elmo import WordVectors
from keras_elmo import batch_to_ids
from keras_elmo.text.byte_indexer import ByteIndexer
from keras_elmo.text.word_hashes import hash_words

pytestmark = pytest.mark.in_graphs(False)

SENTENCES = [["The", "cat", "cats", "é", "sat"], [], ["DOG", "the", ""]]


def vectors_of(words, dim=3):
    """A vector for each word, none of them zero."""
    return 1 + np.arange(dim * len(words)).reshape(-1, dim) % 1000


def make(words=("the", "cat", "sat", "dog", "É"), **kwargs):
    return WordVectors(words, vectors_of(words), **kwargs)


def look_up(layer, words):
    ids = batch_to_ids([words], layer.max_characters_per_token)
    return ops.convert_to_numpy(layer(ids))[0]


def in_an_onnx_file(layer, ids, path):
    """Looks up words in the export of a model that has an `ElmoLayer`, too."""
    from onnx_sessions import answer
    from onnx_sessions import open_session

    elmo = make_shallow_elmo({"max_characters_per_token": 50})
    inputs = keras.Input((None, 50), dtype="int32")
    x = keras.layers.Concatenate()([layer(inputs), elmo(inputs)])
    keras_elmo.export_onnx(keras.Model(inputs, x), path)
    (found,) = answer(open_session(path), ids=ids).values()
    return found[0, :, : layer.projection_dim]


@pytest.mark.parametrize("number", quick_first([5_000, 100_000]))
def test_every_word_is_found_and_no_other(number, tmp_path):
    words = [np.base_repr(i, 36).lower() for i in range(2 * number)]
    np.random.default_rng(0).shuffle(words)
    layer = WordVectors(words[:number], vectors_of(words[:number]))
    ways = [look_up(layer, words)]
    if keras.backend.backend() == "tensorflow":
        path = str(tmp_path / "model.onnx")
        ways.append(in_an_onnx_file(layer, batch_to_ids([words]), path))
    # As the docstring says: 64 bytes and two per number for each word.
    sizes = [ops.convert_to_numpy(v).nbytes for v in layer.weights]
    assert 0 <= sum(sizes) - number * (64 + 2 * 3) < 1000
    for found in ways:
        assert_equal(found[:number], vectors_of(words[:number]))
        assert not found[number:].any()


def test_words_that_differ_little():
    # A byte 0 looks like the end of a word, and </S> has an id of its own.
    listed = ["a", "a\0", "\0a", "", "\0", "<S>", "</S>", "<s>", "x" * 47]
    others = ["a\0\0", "\0\0", "aa", "<s", "x" * 46, "\x01", "\xff", " a", "a "]
    layer = make(listed)
    assert_equal(look_up(layer, listed), vectors_of(listed))
    assert not look_up(layer, others).any()


def test_case():
    forms = {
        "cat": ["cat", "Cat", "CAT", "cAT"],
        "US": ["US"],
        "us": ["us", "Us"],
        "ärger": ["ärger", "Ärger", "ÄRGER", "äRGER", "ÄrGER"],
        "москва": ["москва", "Москва", "москва".upper()],
        "Ωmega": ["Ωmega", "ΩMEGA"],
        "straße": ["straße", "Straße"],
    }
    layer = make(list(forms))
    for words, expected in zip(forms.values(), vectors_of(forms)):
        assert_equal(look_up(layer, words), [expected] * len(words))
    assert not look_up(layer, ["МОСква", "ωmega", "STRASSE"]).any()


def test_the_lower_case_of_each_form_is_its_word():
    code_points = map(chr, range(0x110000))
    cased = [x for x in code_points if {x.upper(), x.lower()} != {x}]
    words = [y for x in cased for y in (x, f"x{x}y") if y.lower() == y]
    vectors = np.arange(len(words) + 1)[:, None] + 1
    # The last word is not UTF-8.
    layer = WordVectors([*words, b"caf\xe9"], vectors, trainable=True)
    forms = {y for x in words for y in (x, x.upper(), x.capitalize())}
    forms = [*forms.union(cased, ["CAF"])]
    number = dict(zip(words, vectors[:, 0]))
    expected = [number.get(x, number.get(x.lower(), 0)) for x in forms]
    found = look_up(layer, forms)[:, 0]
    assert all(x in (0, y) for x, y in zip(found, expected))
    lost = {x for x, y, z in zip(forms, found, expected) if y < z}
    # As the docstring says; the lower case of U+0130 has two code points.
    assert lost.intersection(cased) == {*"\u03f4\u1e9e\u2126\u212a\u212b"}


def test_equal_words_have_the_first_ones_vector():
    words = ["a" * 49, "a" * 48, "b", b"b", "é" * 30, "é" * 24, "c"]
    layer = make(words)
    found = look_up(layer, [*words, "a" * 60, "É" * 24])
    expected = vectors_of(words)[[0, 0, 2, 2, 4, 4, 6, 0, 4]]
    assert_equal(found, expected)
    layer = make(["abcd", "abxx"], max_characters_per_token=4)
    assert_equal(look_up(layer, ["abq", "ab"]), [[1, 2, 3]] * 2)


def test_masks_documents_and_nothing():
    layer = make()
    ids = batch_to_ids(SENTENCES)
    x = layer(ids)
    assert_equal(x._keras_mask, ids.any(axis=-1))
    found = ops.convert_to_numpy(x)
    assert_equal(found[..., 0], [[1, 4, 0, 0, 7], [0] * 5, [10, 1, 0, 0, 0]])
    documents = np.stack([ids, ids[::-1]])
    assert_equal(layer(documents), np.stack([found, found[::-1]]))
    assert layer(ids[:, :0]).shape == (3, 0, 3)


@pytest.mark.parametrize("trainable", [False, True])
def test_trained_or_frozen(trainable, tmp_path):
    layer = make(trainable=trainable)
    dtype = "float32" if trainable else "float16"
    assert layer.vectors.dtype == layer.sizes["vectors"][0] == dtype
    inputs = keras.Input((None, 50), dtype="int32")
    x = keras.layers.Dense(1)(layer(inputs))
    model = keras.Model(inputs, x)
    model.trainable = True  # The frozen ones stay frozen.
    before = ops.convert_to_numpy(layer.vectors)
    model.compile(keras.optimizers.SGD(0.1), "mse")
    ids = batch_to_ids([["the", "unlisted"]])
    model.fit(ids, np.ones((1, 2, 1)), verbose=0)
    changed = (ops.convert_to_numpy(layer.vectors) != before).any(axis=-1)
    assert_equal(changed, [trainable, False, False, False, False])
    layer.trainable = False
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras").layers[1]
    assert loaded.vectors.dtype == dtype and not loaded.trainable_weights
    assert_equal(loaded.vectors, layer.vectors)
    assert_equal(loaded(ids), layer(ids))


def test_sums_that_are_equal_are_told_apart(monkeypatch):
    # The first hash function gives all words the same sums.
    make_generator = np.random.default_rng
    ones = types.SimpleNamespace(
        integers=lambda low, high, size, dtype: np.ones(size, dtype)
    )
    monkeypatch.setattr(
        np.random,
        "default_rng",
        lambda seed: make_generator(seed) if seed else ones,
    )
    words = [b"ab", b"ba", b"cb"]
    hashes, size = hash_words(words, ByteIndexer())
    assert hashes.factors.min() >= 1 and hashes.factors.max() > 1
    assert len({*hashes.sums[:3]}) == 3 and size <= 3
    monkeypatch.setattr(np.random, "default_rng", lambda seed: ones)
    with pytest.raises(ValueError, match="No hash function was found"):
        hash_words(words, ByteIndexer())
    assert not look_up(make(["ab"]), ["ba"]).any()


def test_the_page():
    found = run_blocks(read_blocks("docs/word-vectors.md"))
    assert found["model"].output_shape == (None, None, 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, None), "0 words, and an array of shape"),
        ((["a"], [1.0]), "1 words, and an array of shape .1,"),
        ((["a", "b"], [[1.0]]), "2 words, and an array of shape .1, 1"),
        ((["a"], [[]]), "1 words, and an array of shape .1, 0"),
        ((["a"], [[1e5]]), "finite in float16"),
        ((["a", 5], [[1.0], [2.0]]), "strings or bytes. Received: 5"),
        (("ab", [[1.0], [2.0]]), "strings or bytes. Received: 'ab'"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        WordVectors(*arguments)


def test_words_that_would_have_no_characters():
    with pytest.raises(ValueError, match="`max_characters_per_token`"):
        WordVectors(["a"], [[1.0]], max_characters_per_token=2)


def test_ids_of_others_are_refused():
    layer = make()
    with pytest.raises(ValueError, match=r"shape \(\.\.\., 50\).*12"):
        layer(batch_to_ids([["a"]], 12))
    with pytest.raises(ValueError, match=r"from 0 to 261.*4000"):
        layer(np.full((1, 1, 50), 4000))
