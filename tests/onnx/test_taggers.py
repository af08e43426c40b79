"""Keras models with an `ElmoLayer` first, as ONNX files."""

import json
import os

import keras
import numpy as np
import pytest
from comparisons import check_answer
from keras import ops
from onnx_sessions import answer
from onnx_sessions import open_session
from small_models import make_elmo
from small_models import randomize
from tagging.small_taggers import BIO
from tagging.small_taggers import crf_tagger
from tagging.small_taggers import ids_input
from tiers import quick_first

from keras_elmo import CRF
from keras_elmo import CRFDecoder
from keras_elmo import ElmoLayer
from keras_elmo import SentencePooling
from keras_elmo import WordVectors
from keras_elmo import batch_to_ids
from keras_elmo import export_onnx

pytestmark = pytest.mark.in_graphs(False)

L = keras.layers
SENTENCES = [["Ann", "met", "Bo", "in", "Århus", "."], [], ["東京"], ["a", "b"]]
IDS = batch_to_ids(SENTENCES, 12)
MASK = IDS.any(axis=-1)
# Random padding on the left of words and between them.
LONG = batch_to_ids([["Ann", "in", "Ann", "c", "a", "Bo", "b"] * 2] * 5, 12)
INSIDE = LONG * (np.random.default_rng(1).random((5, 14, 1)) < 0.6)


def lstm(units=2, **kwargs):
    return L.LSTM(units, **{"return_sequences": True, **kwargs})


def bilstm(units=4, **kwargs):
    return L.Bidirectional(lstm(units, **kwargs))


def is_word(ids):
    return ops.any(ids != 0, axis=-1)


def with_marginals(scheme):
    decoder = {"return_marginals": True, "return_entities": True}
    model = crf_tagger({"scheme": scheme, **decoder}, scale=1.0)
    # Entities of several words.
    model.get_layer("crf").transitions.assign(np.eye(5) + 2 * np.eye(5, k=1))
    return model


def side_by_side():
    ids = ids_input()
    elmo = make_elmo(num_representations=2)
    first, second = elmo(ids)
    x = lstm(3, use_bias=False)(first)
    x = L.Concatenate()([x, L.Dense(4, activation="tanh")(second), first])
    outputs = {
        "b": L.Dense(3, activation="softmax", use_bias=False)(x),
        "a": bilstm()(x, mask=elmo.compute_mask(ids)[0]),
    }
    return keras.Model(ids, outputs)


def word_vectors(elmo_first, trainable):
    ids, elmo = ids_input(), make_elmo()
    words = ["ann", "Ann", "in", "århus", "東", "c"]
    vectors = np.random.default_rng(0).normal(size=(6, 4))
    layer = WordVectors(
        words, vectors, max_characters_per_token=12, trainable=trainable
    )
    both = [layer(ids), elmo(ids)]
    x = L.Concatenate()(both[::-1] if elmo_first else both)
    outputs = {"x": x, "y": bilstm()(x, mask=elmo.compute_mask(ids))}
    return keras.Model(ids, outputs)


def sequential():
    elmo = make_elmo(keep_sentence_boundaries=True)
    dense = L.Dense(3, activation="relu", name="scores")
    return keras.Sequential([ids_input(), elmo, L.SpatialDropout1D(0.1), dense])


def called_in_another():
    model = keras.Sequential([ids_input(), make_elmo(), L.Dense(5)])
    ids = ids_input()
    keras.Model(ids, model(ids))
    return model


def with_lora():
    ids, dense = ids_input(), L.Dense(4, name="tags")
    model = keras.Model(ids, dense(make_elmo()(ids)))
    dense.enable_lora(2)
    dense.lora_kernel_b.assign(np.ones((2, 4)))
    return model


def classifier(keeps):
    ids = ids_input()
    elmo = make_elmo(keep_sentence_boundaries=keeps)
    x = elmo(ids)
    # Far above all words at padding, unless the mask is used.
    words = L.Dense(3, kernel_initializer="normal", name="words")(x)
    words = L.Dense(3, bias_initializer="ones", name="scores")(words)
    pooled = [
        SentencePooling(name="mean")(words),
        SentencePooling("max", name="most")(words),
        SentencePooling("max")(bilstm()(x)),
    ]
    y = L.Concatenate()([L.Dropout(0.5)(x) for x in pooled])
    y = L.Concatenate(axis=1)([L.Dense(6, activation="tanh")(y), pooled[0]])
    y = L.Dense(5, activation="softmax", name="class")(y)
    model = keras.Model(ids, [y, words, *pooled[:2]])
    randomize(model.get_layer("class"), 1.0)
    return model


def by_number(ids, elmo):
    return ops.cast(ids[..., 0] > 0, "int32")


def by_layer(ids, elmo):
    return L.Lambda(is_word)(ids)


def by_vectors(ids, elmo):
    return ops.any(elmo(ids) != 0, axis=-1)


def masked(mask_of):
    """A tagger and classifier whose mask is computed by hand."""
    ids, elmo = ids_input(), make_elmo()
    mask = mask_of(ids, elmo)
    x = bilstm()(elmo(ids, mask=mask), mask=mask)
    scores = CRF(5)(L.Dense(5)(x), mask=mask)
    outputs = [CRFDecoder(name="tags")(scores), SentencePooling()(x, mask=mask)]
    return keras.Model(ids, outputs)


def export(model, folder, quantize=None):
    path = str(folder / "tagger.onnx")
    export_onnx(model, path, quantize=quantize, overwrite=True)
    return open_session(path)


def expected_answer(model, ids=IDS):
    """Returns a list of the outputs: those of words are zero at padding."""
    (elmo,) = (x for x in model.layers if type(x) is ElmoLayer)
    mask = keras.tree.flatten(elmo.compute_mask(ids))[0]
    mask = ops.convert_to_numpy(mask)
    found = []
    for x in map(ops.convert_to_numpy, keras.tree.flatten(model(ids))):
        if x.shape[:2] == mask.shape:
            x = np.where(mask.reshape(mask.shape + (1,) * (x.ndim - 2)), x, 0)
        found.append(x)
    return found, mask.shape


def check(session, expected, ids=IDS, tolerance=1e-5):
    found = answer(session, ids=ids)
    check_answer(found, dict(zip(found, expected, strict=True)), tolerance)
    return found


SCHEME = {"tag_names": BIO, "scheme": "BIO"}
ALL_OF_CRF = """
tags tags_marginals tags_entity_probabilities tags_entity_lengths"""
POOLED = "class scores mean most"


@pytest.mark.parametrize(
    ("make", "arguments", "names"),
    quick_first(
        [
            (crf_tagger, [{"tag_names": None}, SCHEME], "tags"),
            (with_marginals, ["BIO"], ALL_OF_CRF),
            (side_by_side, [], "a b"),
            (word_vectors, [False, False], "x y"),
            (classifier, [True], POOLED),
            (sequential, [], "scores"),
            (masked, [by_vectors], "tags sentence_pooling"),
            (masked, [by_layer], "tags sentence_pooling"),
            (masked, [by_number], "tags sentence_pooling"),
            (crf_tagger, [SCHEME], "tags"),
            (word_vectors, [True, True], "x y"),
            (classifier, [False], POOLED),
            (called_in_another, [], "dense"),
            (with_lora, [], "tags"),
        ],
        7,
    ),
)
def test_answers_are_those_of_keras(make, arguments, names, tmp_path):
    keras.backend.clear_session()  # The names of layers begin anew.
    model = make(*arguments)
    number = len(model.weights)
    session = export(model, tmp_path)
    assert len(model.weights) == number
    found = check(session, expected_answer(model)[0])
    assert list(found) == names.split()
    check(session, expected_answer(model, INSIDE)[0], INSIDE)
    for batch, time in (2, 0), (0, 3):
        # Seven more words of padding, as Keras needs some.
        ids = np.zeros((2, time + 7, 12), "int32")
        expected, shape = expected_answer(model, ids)
        expected = [
            x[:batch, :-7] if x.shape[:2] == shape else x[:batch]
            for x in expected
        ]
        check(session, expected, ids[:batch, :time])


def test_what_is_compared_says_something():
    tags, _, probabilities, lengths = with_marginals("BIO")(IDS)
    assert len({*ops.convert_to_numpy(tags)[MASK]}) > 2
    assert ops.max(lengths) > 1 and 0.1 < ops.max(probabilities) < 1
    vectors = ops.convert_to_numpy(word_vectors(False, False)(IDS)["x"])
    assert vectors[..., :4].any(axis=-1).sum() == 3


def test_eight_bits_change_little(tmp_path):
    model = word_vectors(False, False)
    session = export(model, tmp_path, "int8")
    for ids in IDS, INSIDE:
        expected, _ = expected_answer(model, ids)
        found = check(session, expected, ids, 0.1)
        assert np.abs(found["y"] - expected[1]).max() > 1e-5


@pytest.mark.parametrize(("time", "batch"), [(6, None), (None, 4)])
def test_masks_of_models_with_fixed_sizes(time, batch, tmp_path):
    ids = keras.Input((time, 12), batch, dtype="int64")
    model = keras.Model(ids, bilstm()(make_elmo()(ids), mask=is_word(ids)))
    check(export(model, tmp_path), expected_answer(model)[0])


def test_a_loaded_model_may_have_masks_of_any_name(tmp_path):
    """The names of operations begin anew in each process."""
    for number in range(3):
        keras.backend.clear_session()
        ids = ids_input()
        for _ in range(number):
            ops.not_equal(ids, 0)
        crf_tagger().save(tmp_path / "tagger.keras")
        keras.backend.clear_session()
        model = keras.saving.load_model(tmp_path / "tagger.keras")
        assert list(answer(export(model, tmp_path), ids=IDS)) == ["tags"]


@pytest.mark.parametrize("keeps", [False, True])
def test_the_shapes_are_named(keeps, tmp_path):
    outputs = export(classifier(keeps), tmp_path).get_outputs()
    time, b = "output_time" if keeps else "time", "batch"
    shapes = [output.shape for output in outputs]
    assert shapes == [[b, 5], [b, time, 3], [b, 3], [b, 3]]


def test_the_model_stays_as_it_is(tmp_path):
    model = crf_tagger()
    export(model, tmp_path)
    # The layer still has only one output.
    keras.Model(model.inputs, model.get_layer("tags").output)


def after_elmo(make):
    ids = ids_input()
    return keras.Model(ids, make(make_elmo()(ids)))


def after_ids(make, shape=(None, 12)):
    ids = keras.Input(shape, dtype="int32")
    return keras.Model(ids, make(ids))


def two_inputs():
    ids, mask = ids_input(), keras.Input((None,), dtype="bool")
    return keras.Model([ids, mask], L.Dense(2)(make_elmo()(ids, mask=mask)))


def quantized():
    model = after_elmo(L.Dense(4, name="tags"))
    model.get_layer("tags").quantize("int8")
    return model


def two_sizes(x):
    backward = lstm(3, go_backwards=True)
    return L.Bidirectional(lstm(), backward_layer=backward)(x)


def inner_model(x):
    inputs = keras.Input(x.shape[1:])
    inner = keras.Model(inputs, L.Dense(2)(inputs))
    inner.supports_masking = True
    return inner(x)


AFTER_ELMO = [
    (
        lambda x: L.GlobalAveragePooling1D()(x),
        "Use `SentencePooling` in its place.*GlobalAveragePooling1D",
    ),
    (inner_model, "Call the layers of the model inside .* class Functional"),
    (lambda x: L.GRU(2)(x), "Use `export_saved_model` for .* class GRU"),
    (lambda x: L.LSTM(2)(x), "return_sequences=False"),
    (lambda x: bilstm(activation="relu")(x), "activation=relu"),
    (lambda x: L.Bidirectional(L.GRU(2))(x), "other than LSTM in it"),
    (lambda x: L.Bidirectional(lstm(), "sum")(x), "merge_mode='sum'"),
    (two_sizes, r"'bidirectional.*' with directions of \[2, 3\] units"),
    (lambda x: L.Dense(2, name="ids")(x), "the name of the input"),
    (lambda x: L.Concatenate(axis=1)([x, x]), "axis=1"),
    (lambda x: CRF(12)(x), "end the model with a `CRFDecoder`"),
    (lambda x: make_elmo()(L.Dense(12)(x)), "one input and one `ElmoLayer`"),
    (lambda x: lstm()(x, initial_state=[x[:, 0, :2]] * 2), "'initial_state'"),
    (lambda x: L.Dropout(0.5)(x, training=True), r"only.*\['training'\]"),
]
OTHERS = [
    (two_inputs, "with a mask|exactly one input|by hand"),
    (lambda: after_ids(L.Rescaling(2.0)), "is its first layer"),
    (lambda: after_ids(make_elmo(return_all_layers=True)), "mixes its layers"),
    (lambda: after_ids(make_elmo(), (None, None, 12)), "on ids of shape"),
    (keras.Model, "Functional or Sequential"),
    (lambda: after_ids(lambda ids: [make_elmo()(ids), ids]), "each output"),
    (
        lambda: after_ids(
            lambda ids: make_elmo()(ids, mask=ops.not_equal(ids[..., 1], 47))
        ),
        "'elmo_layer.*' with another mask",
    ),
    (quantized, "'tags' in mode 'int8'"),
]


@pytest.mark.filterwarnings("ignore:Layer .* is skipped")
@pytest.mark.parametrize(("make", "message"), OTHERS + AFTER_ELMO)
def test_what_cannot_be_exported_is_refused(make, message, tmp_path):
    model = after_elmo(make) if (make, message) in AFTER_ELMO else make()
    with pytest.raises(ValueError, match=message):
        export(model, tmp_path)
    assert os.listdir(tmp_path) == []


def at_most_50(ids):
    return is_word(ids) & (ops.cumsum(ops.ones_like(ids[..., 0]), 1) <= 50)


def from_first_to_last(ids):
    return ops.flip(ops.cumsum(ops.flip(is_word(ids), 1), 1) > 0, 1)


def with_a_word_if_empty(ids):
    return is_word(ids) | ~ops.any(is_word(ids), axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("mask_of", "received"),
    [
        (lambda ids: ids[..., 1] != 47, "another mask"),  # No full stops.
        (at_most_50, "another mask"),
        (from_first_to_last, "another mask"),
        (with_a_word_if_empty, "another mask"),
        (lambda ids: None, "no mask"),
    ],
)
def test_other_masks_are_refused(mask_of, received, tmp_path, monkeypatch):
    # Keras 3.16 passes no mask on here.
    monkeypatch.setattr(L.Bidirectional, "compute_mask", lambda *given: None)
    monkeypatch.setattr(CRF, "_check_that_no_mask_is_lost", lambda *given: None)
    ids = ids_input()
    x, mask = bilstm(2)(make_elmo()(ids)), mask_of(ids)
    for y in (
        bilstm()(x, mask=mask),
        lstm()(x, mask=mask),
        CRFDecoder()(CRF(4)(x, mask=mask)),
        SentencePooling()(x, mask=mask),
    ):
        with pytest.raises(ValueError, match=f"layer '.*' with {received}"):
            export(keras.Model(ids, y), tmp_path)


def test_the_names_of_the_tags_are_in_the_metadata(tmp_path):
    model = crf_tagger()
    path = tmp_path / "tagger.onnx"
    for names, expected in (
        (None, BIO),
        (BIO[::-1], BIO[::-1]),
        ({"tags": [b"A", *"bcde"]}, "Abcde"),
    ):
        export_onnx(model, path, tag_names=names, overwrite=True)
        meta = open_session(path).get_modelmeta()
        found = json.loads(meta.custom_metadata_map["tags_tag_names"])
        assert found == list(expected)
