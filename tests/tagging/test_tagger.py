"""Tagging sentences with models of every kind."""

import copy
import json
import os
import pickle
import sys

import keras
import numpy as np
import pytest
from conftest import ROOT
from small_models import make_shallow_elmo
from small_models import randomize
from tagging.small_taggers import BIO
from tagging.small_taggers import crf_tagger
from tagging.small_taggers import ids_input

from keras_elmo import CRF
from keras_elmo import CRFDecoder
from keras_elmo import ElmoEmbedder
from keras_elmo import ElmoLayer
from keras_elmo import Tagger
from keras_elmo import batch_to_ids
from keras_elmo.crf.tags import to_scheme
from keras_elmo.models.find_model import find_model
from keras_elmo.models.keras_file import KerasFile
from keras_elmo.models.presets import TAGGERS
from keras_elmo.text import read_conll

L = keras.layers
SENTENCES = [
    ["Ann", "met", "Bo", "in", "Århus", "."],
    [],
    ["", " ", "\ud800", "🎻" * 20, "tab\tand\nline"],
    [b"bytes"],
    ["a"] * 40,
]


def scores_tagger(last=None, **kwargs):
    ids = ids_input()
    dense = L.Dense(5, activation="softmax", name="tags")
    x = dense(make_shallow_elmo(**kwargs)(ids))
    randomize(dense, 5.0)
    return keras.Model(ids, x if last is None else last(x))


class BestTag(L.Layer):
    supports_masking = True

    def call(self, x):
        return keras.ops.argmax(x, axis=-1)


def alone(model, words):
    """What the model returns for one sentence, without padding."""
    outputs = model(batch_to_ids([words], 12))
    outputs = keras.tree.flatten(outputs)
    return [keras.ops.convert_to_numpy(x)[0] for x in outputs]


@pytest.fixture(scope="module")
def tagger():
    return Tagger(crf_tagger({"scheme": "BIO"}))


def test_a_crf(tagger):
    model = tagger.model
    assert tagger.tag_names == BIO and tagger.scheme == "BIO"
    tags, marginals = tagger.predict(
        SENTENCES, batch_size=2, return_marginals=True
    )
    decoder = CRFDecoder(return_marginals=True, tag_names=BIO, scheme="BIO")
    check = keras.Model(model.input, decoder(model.layers[-2].output))
    for words, names, array in zip(SENTENCES, tags, marginals, strict=True):
        if words:
            numbers, expected = alone(check, words)
            assert names == [BIO[number] for number in numbers]
            np.testing.assert_allclose(array, expected, atol=1e-4)
        else:
            assert names == [] and array.shape == (0, 5)
    assert len({name for names in tags for name in names}) > 2
    assert tagger.predict(iter(SENTENCES), batch_size=100) == tags
    assert tagger.predict([]) == [] and tagger.predict([[]]) == [[]]


@pytest.mark.parametrize("threshold", [None, 0.02])
def test_entities_with_probabilities(threshold):
    tagger = Tagger(crf_tagger(scale=1.0))
    found, tags = tagger.predict_entities(
        iter(SENTENCES), threshold=threshold, batch_size=2, return_tags=True
    )
    if threshold is None:
        assert tags == tagger.predict(SENTENCES)
    for words, names, entities in zip(SENTENCES, tags, found, strict=True):
        assert len(names) == len(words)
        assert [x[:3] for x in entities] == Tagger.entities(names)
        assert to_scheme(names, "BIO") == names
        (expected,) = tagger.predict_entities([words], threshold=threshold)
        assert [x[:3] for x in entities] == [x[:3] for x in expected]
        for x, y in zip(entities, expected):
            assert x.probability == pytest.approx(y.probability, abs=1e-5)
    assert any(x.end - x.start > 1 for row in found for x in row)
    assert tagger.predict_entities([], threshold=threshold) == []


@pytest.mark.skipif(
    keras.backend.backend() == "jax", reason="Slow: JAX compiles each shape."
)
def test_a_long_entity_is_found_by_its_threshold():
    model = crf_tagger({"scheme": "BIO"})
    words = ["a"] * 60
    crf = model.layers[-2]
    dense = model.layers[-3]
    dense.set_weights([np.zeros_like(x) for x in dense.get_weights()])
    # After B-PER, I-PER is all but certain.
    transitions = np.zeros((5, 5), "float32")
    transitions[1:3, 2] = 9
    start = np.float32([0, 20, 0, 0, 0])
    crf.set_weights([transitions, start, np.zeros(5, "float32")])
    (found,) = Tagger(model).predict_entities([words], threshold=0.5)
    assert [x[:3] for x in found] == [(0, 60, "PER")]
    assert found == Tagger(model).predict_entities([words])[0]


def test_probabilities_need_a_crf_and_a_good_threshold(tagger):
    for model in (scores_tagger(), scores_tagger(BestTag())):
        with pytest.raises(ValueError, match="ends in a `CRF`"):
            Tagger(model, BIO).predict_entities(SENTENCES)
    for names in (
        ["O", "NOUN", "VERB", "ADJ", "ADV"],
        ["O", "I-A", "I-B", "I-C", "I-D"],
    ):
        other = Tagger(crf_tagger({"tag_names": names}))
        assert len({x for row in other.predict(SENTENCES) for x in row}) > 2
        with pytest.raises(ValueError, match="mark entities"):
            other.predict_entities(SENTENCES)
    found = tagger.predict_entities(SENTENCES, threshold=np.float32(0.5))
    assert found == tagger.predict_entities(SENTENCES, threshold=0.5)
    for threshold in (0, 1.5, float("nan"), "0.5", True):
        with pytest.raises(ValueError, match="above 0 and up to 1"):
            tagger.predict_entities(SENTENCES, threshold=threshold)


def test_copies(tagger):
    for original in (tagger, Tagger(scores_tagger(), iter(BIO))):
        tags, scores = original.predict(SENTENCES, return_marginals=True)
        for twin in (
            pickle.loads(pickle.dumps(original)),
            copy.deepcopy(original),
        ):
            assert twin.model is not original.model
            found = twin.predict(SENTENCES, return_marginals=True)
            np.testing.assert_equal(found, (tags, scores))


def test_scores_and_numbers_with_tag_names():
    model = scores_tagger()
    names = {"tags": [name.encode() for name in BIO]}
    tags, scores = Tagger(model, names).predict(
        SENTENCES, return_marginals=True
    )
    for words, names, array in zip(SENTENCES, tags, scores, strict=True):
        if words:
            (expected,) = alone(model, words)
            np.testing.assert_allclose(array, expected, atol=1e-5)
            assert names == [BIO[i] for i in expected.argmax(axis=-1)]
    numbers = scores_tagger(BestTag(name="best"))
    tagger = Tagger(numbers, BIO)
    found, certain = tagger.predict(SENTENCES, return_marginals=True)
    assert found == tags
    assert [[BIO[i] for i in x.argmax(-1)] for x in certain] == tags


def test_other_names_than_those_of_the_decoder(tagger):
    """It decodes by its own ones, or by the tagger's if it has none."""
    numbers = Tagger(tagger.model, {"tags": [*"abcde"]}).predict(SENTENCES)
    names = dict(zip("abcde", BIO))
    found = [[names[x] for x in row] for row in numbers]
    assert found == tagger.predict(SENTENCES)
    unnamed = Tagger(crf_tagger({"tag_names": None}), BIO)
    found = unnamed.predict(SENTENCES)
    assert found == [to_scheme(row, "BIO") for row in found]
    assert unnamed.predict_entities(SENTENCES, return_tags=True)[1] == found


def test_one_of_several_outputs_and_a_decoder_of_two_models():
    # Its second call is the tagger's.
    decoder = CRFDecoder(tag_names=BIO, name="tags")
    decoder(CRF(5)(keras.Input((None, 5))))
    ids, elmo = ids_input(), make_shallow_elmo()
    x = L.Dense(5, name="dense")(elmo(ids))
    scores = CRF(5)(x, mask=elmo.compute_mask(ids))
    model = keras.Model(ids, {"a": x, "b": decoder(scores)})
    tags, marginals = Tagger(model).predict([["a", "b"]], return_marginals=True)
    assert len(tags[0]) == 2 and marginals[0].shape == (2, 5)


def embedding_tagger():
    ids = keras.Input((None,), dtype="int32")
    return keras.Model(ids, L.Dense(5, name="tags")(L.Embedding(9, 3)(ids)))


def classifier():
    model = scores_tagger()
    mean = L.GlobalAveragePooling1D(name="mean")(model.output)
    return keras.Model(model.input, mean)


@pytest.mark.parametrize(
    ("make", "tag_names", "message"),
    [
        (lambda: "ner.keras", None, "use `Tagger.load`. Received: 'ner.keras'"),
        (make_shallow_elmo, None, "must be a Keras model that returns tags"),
        (scores_tagger, None, "one tag for each word: .* outputs \\[\\] of"),
        (scores_tagger, {"tags": BIO[:4]}, "of size 4, the number of names"),
        (classifier, {"mean": BIO}, "must return one tag for each word"),
        (
            lambda: crf_tagger(keep_sentence_boundaries=True),
            None,
            "must return one tag for each word",
        ),
        (embedding_tagger, {"tags": BIO}, "one input, character ids of shape"),
    ],
)
def test_other_models_are_refused(make, tag_names, message):
    with pytest.raises(ValueError, match=message):
        Tagger(make(), tag_names)


def test_sentences_are_checked(tagger):
    for predict in tagger.predict, tagger.predict_entities:
        with pytest.raises(ValueError, match="as sentence 1: 'a b'"):
            predict([["a"], "a b"])
    with pytest.raises(ValueError, match="`batch_size` must be"):
        tagger.predict([["a"]], batch_size=0)


def test_progress(tagger, capsys, monkeypatch):
    many = [["a"]] * 1600
    tagger.predict(many, verbose=1)
    tagger.evaluate(many, [["O"]] * 1600)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    tagger.predict(many[1:])
    tagger.predict(many, verbose=0)
    assert capsys.readouterr().out == ""
    tagger.predict(many)
    assert "1600/1600" in capsys.readouterr().out
    tagger.predict_entities(many[:2], batch_size=1, verbose=1)
    assert "2/2" in capsys.readouterr().out


def test_a_file_and_a_folder(tagger, tmp_path):
    model, expected = tagger.model, tagger.predict(SENTENCES)
    model.save(tmp_path / "ner.keras")
    for path in (tmp_path / "ner.keras", str(tmp_path)):
        assert Tagger.load(path).predict(SENTENCES) == expected
    model.save(tmp_path / "other.keras")
    with pytest.raises(ValueError, match=r"one \.keras file"):
        Tagger.load(tmp_path)
    with pytest.raises(ValueError, match="Received: 'english_mini', a biLM"):
        Tagger.load("english_mini")


def make_head(width):
    vectors = keras.Input((None, width), name="small")
    inputs = vectors, keras.Input((None,), dtype="bool")
    scores = CRF(5)(L.Dense(5)(inputs[0]), mask=inputs[1])
    decoder = CRFDecoder(tag_names=BIO, name="tags")
    return keras.Model(inputs, decoder(scores))


def test_a_head_is_loaded_with_its_elmo(tmp_path, portable_path):
    head, path = make_head(512), tmp_path / "head.keras"
    randomize(head.layers[-3], 3.0)
    head.save(path)
    found = KerasFile(path, elmo=find_model("english_mini"))
    tagger = Tagger(found.load_for_export(ElmoLayer))
    embedder = ElmoEmbedder(tagger.model.get_layer("elmo"), layers="mix")
    vectors, mask = embedder.batch_to_embeddings(SENTENCES)
    numbers = keras.ops.convert_to_numpy(head([vectors, mask]))
    assert tagger.predict(SENTENCES) == [
        [BIO[i] for i in row[: len(words)]]
        for row, words in zip(numbers, SENTENCES)
    ]
    make_head(256).save(path)
    with pytest.raises(ValueError, match="cannot be loaded"):
        found.load_for_export(ElmoLayer)


def test_an_input_may_have_the_name_of_a_preset(tmp_path):
    make_head(256).save(tmp_path / "x.keras")
    model = find_model(tmp_path / "x.keras").load_for_export(ElmoLayer)
    assert model.inputs[0].shape == (None, None, 256)


def test_heads_in_the_package_are_small():
    # In float16.
    assert all(os.path.getsize(x.head) < 1e6 for x in TAGGERS.values())


def test_english_names():
    tagger = Tagger.load("english_names")
    assert tagger.scheme == "BIO" and len(tagger.tag_names) == 7
    words = ["Maria", "Lopez", "moved", "to", "Ohio", "."]
    (found,) = tagger.predict_entities([words])
    assert [x[:3] for x in found] == [(0, 2, "PER"), (4, 5, "LOC")]
    assert all(0.8 < x.probability < 1 for x in found)


def test_english_pos(portable_path):
    tagger = Tagger.load("english_pos")
    assert {v.dtype for v in tagger.model.weights} == {"float32"}
    assert len(tagger.tag_names) == 17
    sentence = ["They", "can", "fish", "in", "the", "can", "."]
    (expected,) = tagger.predict([sentence])
    tags = ["PRON", "AUX", "VERB", "ADP", "DET", "NOUN", "PUNCT"]
    assert expected == tags


@pytest.mark.skipif(
    keras.backend.backend() == "jax", reason="Slow: JAX compiles each shape."
)
@pytest.mark.exhaustive
def test_the_accuracy_of_english_pos(shared):
    results = json.loads((ROOT / "docs/results/english_pos.json").read_text())
    data = read_conll(shared / "data/ud_english_ewt/test.conllu")
    assert sum(map(len, data[0])) == results["test"]["words"]
    scores = Tagger.load("english_pos").evaluate(*data)
    expected = pytest.approx(results["test"]["accuracy"], abs=2e-4)
    assert scores["accuracy"] == expected
