"""Task models, exported to take strings."""

import os

import keras
import numpy as np
import pytest
from comparisons import check_answer
from keras import ops
from serving.answers import as_float32
from serving.answers import requests
from small_models import make_shallow_elmo
from small_models import randomize
from tagging.small_taggers import BIO
from tagging.small_taggers import crf_tagger
from tagging.small_taggers import ids_input
from tiers import quick_first

from keras_elmo import ScalarMix
from keras_elmo import SentencePooling
from keras_elmo import WordVectorization
from keras_elmo import WordVectors
from keras_elmo import batch_to_ids
from keras_elmo import export_saved_model
from keras_elmo.text.character_indexer import CharacterIndexer

SENTENCES = [["Ann", "met", "Bo", "in", "Århus", "."], [], ["東京", "!"]]
IDS = batch_to_ids(SENTENCES, 12)
MASK = IDS.any(axis=-1)
STRINGS = {"strings": [" ".join(sentence) for sentence in SENTENCES]}
TAGS = ["O", "B-X", "I-X"]


def classify(ids, x, name, activation="softmax"):
    layer = keras.layers.Dense(3, activation, name=name)
    layer.build(x.shape)
    randomize(layer, 5.0)
    # Centred on the mean of the words, so that labels differ.
    vectors = as_float32(keras.Model(ids, x)(IDS))
    mean = vectors[vectors.any(axis=-1)].mean(axis=0)
    layer.bias.assign(-mean @ as_float32(layer.kernel))
    return layer(x)


def encode(ids):
    """Replaces ELMo where only the layers after it are tested."""
    return keras.layers.Rescaling(0.01)(ids)


class Best(keras.layers.Layer):
    """A layer that selects tags, like a CRF, and knows their names."""

    tag_names = TAGS
    supports_masking = True

    def call(self, x, mask=None):
        return ops.argmax(x, axis=-1)

    def compute_output_spec(self, x, mask=None):
        return keras.KerasTensor(x.shape[:-1], dtype="int32")


class Known(keras.layers.Identity):
    tag_names = TAGS


def tagger():
    words = WordVectors(["ann", "Bo"], np.eye(2), max_characters_per_token=12)
    ids = ids_input()
    x = keras.layers.Concatenate()([make_shallow_elmo()(ids), words(ids)])
    return keras.Model(ids, classify(ids, x, "tags"))


def in_half_precision():
    ids = ids_input()
    elmo = make_shallow_elmo(dtype="mixed_bfloat16", name="elmo")
    return keras.Model(ids, elmo(ids))


def entity_tagger():
    return crf_tagger({"return_entities": True, "scheme": "BIO"}, scale=1.0)


def classifier():
    ids = ids_input()
    elmo = make_shallow_elmo(scalar_mix=ScalarMix(layer_norm=True))
    pooled = SentencePooling()(elmo(ids))
    return keras.Model(ids, classify(ids, pooled, "genre"))


def scores_and_tags():
    ids = ids_input()
    scores = Known()(classify(ids, encode(ids), "scores"))  # No tags.
    return keras.Model(ids, {"best": Best()(scores), "scores": scores})


def two_outputs():
    ids = keras.Input((None, 12), dtype="int32", name="the_ids")
    a, b = (classify(ids, encode(ids), name) for name in "ab")
    return keras.Model({"the_ids": ids}, [b, a])


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.elmo = make_shallow_elmo()
        self.dense = keras.layers.Dense(3)

    def call(self, ids):
        return {"scores": self.dense(self.elmo(ids))}


def subclassed():
    model = Subclassed()
    model(IDS)
    return model


def sequential():
    dense = keras.layers.Dense(3, name="scores")
    scale = keras.layers.Rescaling(0.01)
    return keras.Sequential(
        [keras.Input((None, 12), dtype="int64"), scale, dense]
    )


LETTERS = ["a", b"b", "c"]
OF_CRF = ["tags", "tags_entity_probabilities", "tags_entity_lengths"]


def labels_of(x, names):
    """Returns the labels for a model's output, computed in Python."""
    numbers = x.argmax(axis=-1) if x.dtype == "float32" else x
    names = [n if isinstance(n, bytes) else n.encode() for n in names]
    labels = np.array(names, object)[numbers]
    if labels.ndim == 2:
        labels[~MASK] = b""
    return labels


@pytest.mark.parametrize(
    ("make", "names", "tag_names", "labelled"),
    quick_first(
        [
            (tagger, ["tags"], TAGS, {"tags": TAGS}),
            (entity_tagger, OF_CRF, None, {"tags": BIO}),
            (classifier, ["genre"], LETTERS, {"genre": LETTERS}),
            (scores_and_tags, ["best", "scores"], None, {"best": TAGS}),
            (two_outputs, ["b", "a"], {"a": TAGS}, {"a": TAGS}),
            (subclassed, ["scores"], None, {}),
            (sequential, ["scores"], None, {}),
            (in_half_precision, ["elmo"], None, {}),
        ],
        2,
    ),
)
def test_answers_are_those_of_keras(
    ask, tmp_path, make, names, tag_names, labelled
):
    model = make()
    ids = IDS.astype("int64" if make is sequential else "int32")
    ids = {"the_ids": ids} if make is two_outputs else ids
    outputs = map(ops.convert_to_numpy, keras.tree.flatten(model(ids)))
    expected = {
        name: x if x.dtype == "int32" else as_float32(x)
        for name, x in zip(names, outputs, strict=True)
    }
    for name, its_labels in labelled.items():
        expected[f"{name}_labels"] = labels_of(expected[name], its_labels)
        assert len({*expected[f"{name}_labels"].flat} - {b""}) > 1
    export_saved_model(model, tmp_path, tag_names=tag_names)
    tolerance = 0.05 if make is in_half_precision else 1e-5
    default, tokens, ids, again = ask(
        tmp_path, *requests(SENTENCES, IDS), ("serving_default", STRINGS)
    )
    for answer in (tokens, ids):
        check_answer(answer, expected, tolerance)
    rows = [s + [""] * (6 - len(s)) for s in SENTENCES]
    words = np.array([[w.encode() for w in row] for row in rows], object)
    for answer in (default, again):
        check_answer(answer, {**expected, "tokens": words}, tolerance)


@pytest.mark.exhaustive
def test_a_stateful_model_is_exported_stateless(ask, tmp_path):
    ids = keras.Input((None, 12), 3, dtype="int32")
    lstm = keras.layers.LSTM(
        4, stateful=True, return_sequences=True, name="state"
    )
    model = keras.Model(ids, lstm(make_shallow_elmo()(ids)))
    expected = as_float32(model(IDS))[:1]
    export_saved_model(model, tmp_path)
    assert model.get_layer("state").stateful
    one = "default", {"strings": STRINGS["strings"][:1]}
    for answer in ask(tmp_path, one, one):
        np.testing.assert_allclose(answer["state"], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("adds", "keeps"),
    quick_first([(False, False), (True, True), (False, True)]),
)
def test_labels_of_more_or_fewer_words(ask, tmp_path, adds, keeps):
    ids = ids_input()
    x = make_shallow_elmo(
        add_sentence_boundaries=adds, keep_sentence_boundaries=keeps
    )(ids)
    x = keras.layers.LSTM(4, return_sequences=True)(x)
    x = keras.layers.Dense(3, activation="softmax", name="scores")(x)
    model = keras.Model(ids, Best(name="tags")(x))
    export_saved_model(model, tmp_path)
    answer, empty, nothing = ask(
        tmp_path,
        ("default", {"strings": ["<S> a b </S>", "<S> a </S>"]}),
        ("default", {"strings": ["<S>"]}),
        ("default", {"strings": []}),
    )
    least = 2 * adds + 2 * keeps
    labels = answer["tags_labels"]
    assert labels.shape == answer["tags"].shape == (2, least + 2)
    assert labels.astype(bool).tolist() == [
        [True] * (least + 2),
        [True] * (least + 1) + [False],
    ]
    assert empty["tags_labels"].shape == (1, max(least - 1, 0))
    assert len(nothing["tags_labels"]) == 0


def two_inputs():
    ids = keras.Input((None, 12), dtype="int32")
    mask = keras.Input((None,), dtype="bool")
    return keras.Model([ids, mask], make_shallow_elmo()(ids, mask=mask))


def of_input(shape, dtype="int32"):
    x = keras.Input(shape, dtype=dtype)
    return keras.Model(x, keras.layers.Identity()(x))


class OtherWords(keras.layers.Identity):
    """Reads ids of the same width that stand for other words."""

    def make_vectorization(self):
        special = ["<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"]
        return WordVectorization(CharacterIndexer(special, None, 12))


def of_two_vectorizations():
    ids = keras.Input((None, 12), dtype="int32")
    return keras.Model(ids, make_shallow_elmo()(OtherWords()(ids)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: keras.Sequential([keras.layers.Dense(2)]), "no weights yet"),
        (two_inputs, "with 2 inputs"),
        (lambda: of_input((None,)), r"of shape=\(None, None\), dtype=int32"),
        (lambda: of_input((None, 12), "float32"), "dtype=float32"),
        (lambda: of_input((None, None)), "no token encoder that defines"),
        (of_two_vectorizations, "with different ids for words"),
        (lambda: of_input((5, 12)), "must allow any number of words"),
    ],
)
def test_models_of_something_else_are_refused(tmp_path, make, message):
    with pytest.raises(ValueError, match=message):
        export_saved_model(make(), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["tokens", "tags_labels"])
def test_an_output_may_not_take_a_name_that_is_needed(tmp_path, name):
    ids = keras.Input((None, 12), dtype="int32")
    tags = classify(ids, encode(ids), "tags")
    model = keras.Model(ids, {"tags": tags, name: tags})
    with pytest.raises(ValueError, match=f"rename it. Received: .*'{name}'"):
        export_saved_model(model, tmp_path / "model", tag_names={"tags": TAGS})
    assert os.listdir(tmp_path) == []
