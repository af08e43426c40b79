"""Keras models with an `ElmoLayer` first, as ONNX files."""

import json
import os

import keras
import numpy as np
import onnxruntime
import pytest
from small_models import make_elmo
from small_models import randomize
from tiers import quick_first

from keras_elmo import CRF
from keras_elmo import CRFDecoder
from keras_elmo import SentencePooling
from keras_elmo import WordVectors
from keras_elmo import batch_to_ids
from keras_elmo import export_onnx

pytestmark = pytest.mark.in_graphs(False)

L = keras.layers
SENTENCES = [["Ann", "met", "Bo", "in", "Århus", "."], [], ["東京"], ["a", "b"]]
IDS = batch_to_ids(SENTENCES, 12)
MASK = IDS.any(axis=-1)
TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


def keras_input():
    return keras.Input((None, 12), dtype="int32")


def bilstm(units=4, **kwargs):
    return L.Bidirectional(L.LSTM(units, return_sequences=True, **kwargs))


def crf_tagger(crf=(), decoder=(), **kwargs):
    ids = keras_input()
    elmo = make_elmo(**kwargs)
    x = L.Dropout(0.5)(bilstm()(elmo(ids)))
    scores = CRF(5, name="crf", **dict(crf))(
        L.Dense(5)(x), mask=elmo.compute_mask(ids)
    )
    return keras.Model(ids, CRFDecoder(name="tags", **dict(decoder))(scores))


def answer(model, folder, ids=IDS, quantize=None, **kwargs):
    path = str(folder / "tagger.onnx")
    export_onnx(model, path, quantize, overwrite=True, **kwargs)
    session = onnxruntime.InferenceSession(path)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"ids": ids})))


def at_tokens(x):
    """Sets the padding to zero."""
    x = keras.ops.convert_to_numpy(x)
    mask = MASK if x.ndim == 2 else MASK[..., None]
    return np.where(mask, x, 0)


@pytest.mark.parametrize(
    ("crf", "decoder"),
    quick_first(
        [
            ({"tag_names": TAGS, "scheme": "BIO"}, {}),
            ({}, {"tag_names": TAGS, "scheme": "BIO"}),
            ({}, {}),
        ]
    ),
    ids=["CRF keeps to a scheme", "decoder keeps to a scheme", "free"],
)
def test_a_bilstm_crf_tagger(crf, decoder, tmp_path):
    model = crf_tagger(crf, decoder)
    randomize(model.layers[2], 1.0)
    for layer in model.layers[4:]:
        randomize(layer, 3.0)
    expected = keras.ops.convert_to_numpy(model(IDS))
    found = answer(model, tmp_path)
    assert set(found) == {"tags"} and found["tags"].dtype == "int32"
    np.testing.assert_array_equal(found["tags"], expected)
    assert len(set(expected[MASK])) > 2
    quantized = answer(model, tmp_path, quantize="int8")["tags"]
    assert np.mean(quantized[MASK] == expected[MASK]) > 0.7


@pytest.mark.parametrize("scheme", ["BIO", None])
def test_marginals_and_entities(scheme, tmp_path):
    decoder = {"return_marginals": True, "return_entities": True}
    model = crf_tagger({}, {"tag_names": TAGS, "scheme": scheme, **decoder})
    for layer in model.layers[2:]:
        randomize(layer, 1.0)
    # Entities of several words.
    model.get_layer("crf").transitions.assign(np.eye(5) + 2 * np.eye(5, k=1))
    found = answer(model, tmp_path)
    for key, expected in zip(found, model(IDS), strict=True):
        expected = keras.ops.convert_to_numpy(expected)
        assert found[key].dtype == expected.dtype
        np.testing.assert_allclose(found[key], expected, atol=1e-6)
    assert [*found] == ["tags", "tags_1", "tags_2", "tags_3"]
    assert found["tags_3"].max() > 1 and 0.1 < found["tags_2"].max() < 1


@pytest.mark.parametrize("shape", [(2, 0), (0, 3)])
def test_no_words_and_no_sentences(shape, tmp_path):
    ids = np.zeros((*shape, 12), "int32")
    options = {"tag_names": TAGS, "return_entities": True}
    found = answer(crf_tagger({}, options), tmp_path, ids)
    assert [x.shape for x in found.values()] == [shape] * 3


def test_layers_side_by_side(tmp_path):
    ids = keras_input()
    elmo = make_elmo(num_representations=2)
    first, second = elmo(ids)
    x = L.LSTM(3, return_sequences=True, use_bias=False)(first)
    x = L.Concatenate()([x, L.Dense(4, activation="tanh")(second), first])
    outputs = {
        "b": L.Dense(3, activation="softmax", use_bias=False)(x),
        "a": bilstm()(x, mask=elmo.compute_mask(ids)[0]),
    }
    model = keras.Model(ids, outputs)
    found = answer(model, tmp_path)
    assert list(found) == ["a", "b"]
    for name, expected in model(IDS).items():
        np.testing.assert_allclose(found[name], at_tokens(expected), atol=1e-5)


@pytest.mark.parametrize("elmo_first", quick_first([False, True]))
@pytest.mark.parametrize("trainable", quick_first([False, True]))
def test_word_vectors_beside_elmo(elmo_first, trainable, tmp_path):
    ids, elmo = keras_input(), make_elmo()
    words = ["ann", "Ann", "in", "århus", "東", "c"]
    vectors = np.random.default_rng(0).normal(size=(6, 4))
    word_vectors = WordVectors(words, vectors, 12, trainable=trainable)
    both = [word_vectors(ids), elmo(ids)]
    x = L.Concatenate()(both[::-1] if elmo_first else both)
    outputs = {"x": x, "y": bilstm()(x, mask=elmo.compute_mask(ids))}
    model = keras.Model(ids, outputs)
    expected = model(IDS)
    for quantize, tolerance in (None, 1e-5), ("int8", 0.1):
        found = answer(model, tmp_path, quantize=quantize)
        for name, each in expected.items():
            np.testing.assert_allclose(
                found[name], at_tokens(each), atol=tolerance
            )
    own = found["x"][..., -4:] if elmo_first else found["x"][..., :4]
    np.testing.assert_array_equal(own, word_vectors(IDS))
    assert own.any(axis=-1).sum() == 3
    for shape in (2, 0), (0, 3):
        found = answer(model, tmp_path, np.zeros((*shape, 12), "int32"))
        assert found["x"].shape == (*shape, 16)


def test_a_sequential_model(tmp_path):
    model = keras.Sequential(
        [
            keras_input(),
            make_elmo(keep_sentence_boundaries=True),
            L.SpatialDropout1D(0.1),
            L.Dense(3, activation="relu", name="scores"),
        ]
    )
    (found,) = answer(model, tmp_path).values()
    expected = keras.ops.convert_to_numpy(model(IDS))
    mask = np.arange(8) < MASK.sum(axis=1, keepdims=True) + 2
    np.testing.assert_allclose(
        found, np.where(mask[..., None], expected, 0), atol=1e-5
    )


def test_the_model_stays_as_it_is(tmp_path):
    model = crf_tagger()
    number = len(model.weights)
    answer(model, tmp_path)
    assert len(model.weights) == number
    # The layer still has only one output.
    keras.Model(model.inputs, model.get_layer("tags").output)


def test_a_loaded_model_may_have_masks_of_any_name(tmp_path):
    """The names of operations begin anew in each process."""
    for number in range(3):
        keras.backend.clear_session()
        ids = keras_input()
        for _ in range(number):
            keras.ops.not_equal(ids, 0)
        crf_tagger().save(tmp_path / "tagger.keras")
        keras.backend.clear_session()
        model = keras.saving.load_model(tmp_path / "tagger.keras")
        answer(model, tmp_path)


def two_inputs():
    ids, mask = keras_input(), keras.Input((None,), dtype="bool")
    return keras.Model([ids, mask], L.Dense(2)(make_elmo()(ids, mask=mask)))


def documents():
    ids = keras.Input((None, None, 12), dtype="int32")
    return keras.Model(ids, L.Dense(2)(make_elmo()(ids)))


class Subclassed(keras.Model):
    pass


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: L.GlobalAveragePooling1D()(x), "GlobalAveragePooling1D"),
        (lambda x: L.LSTM(2)(x), "return_sequences=False"),
        (lambda x: bilstm(activation="relu")(x), "an `activation` other"),
        (lambda x: L.Bidirectional(L.GRU(2))(x), "other than LSTM in it"),
        (
            lambda x: L.Bidirectional(
                L.LSTM(2, return_sequences=True), merge_mode="sum"
            )(x),
            "merge_mode='sum'",
        ),
        (
            lambda x: L.Bidirectional(
                L.LSTM(2, return_sequences=True),
                backward_layer=L.LSTM(
                    3, return_sequences=True, go_backwards=True
                ),
            )(x),
            r"'bidirectional.*' with directions of \[2, 3\] units",
        ),
        (lambda x: L.Dense(2, name="ids")(x), "the name of the input"),
        (lambda x: L.Concatenate(axis=1)([x, x]), "axis=1"),
        (lambda x: CRF(12)(x), "end the model with a `CRFDecoder`"),
        (
            lambda x: make_elmo()(L.Dense(12)(x)),
            "exactly one input and one `ElmoLayer`",
        ),
        (
            lambda x: L.LSTM(12, return_sequences=True)(
                x, initial_state=[L.LSTM(12)(x)] * 2
            ),
            "with its inputs only",
        ),
        (lambda x: L.Dropout(0.5)(x, training=True), r"only.*\['training'\]"),
        (
            lambda x: L.LSTM(2, return_sequences=True)(
                x, initial_state=[np.ones((1, 2), "float32")] * 2
            ),
            r"only.*\['initial_state'\]",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "model",
)
def test_what_cannot_be_exported_is_refused(make, message, tmp_path):
    ids = keras_input()
    with pytest.raises(ValueError, match=message):
        export_onnx(
            keras.Model(ids, make(make_elmo()(ids))), tmp_path / "tagger.onnx"
        )
    assert os.listdir(tmp_path) == []


def is_word(ids):
    return keras.ops.any(ids != 0, axis=-1)


@pytest.mark.parametrize(
    "mask_of",
    [
        lambda ids, elmo: is_word(ids),
        lambda ids, elmo: keras.ops.cast(ids[..., 0] > 0, "int32"),
        lambda ids, elmo: L.Lambda(is_word)(ids),
        lambda ids, elmo: keras.ops.any(elmo(ids) != 0, axis=-1),
    ],
)
def test_masks_that_are_computed_by_hand(mask_of, tmp_path):
    ids, elmo = keras_input(), make_elmo()
    mask = mask_of(ids, elmo)
    x = bilstm()(elmo(ids, mask=mask), mask=mask)
    scores = CRF(5)(L.Dense(5)(x), mask)  # By position.
    outputs = [CRFDecoder(name="tags")(scores), SentencePooling()(x, mask)]
    model = keras.Model(ids, outputs)
    tags, mean = answer(model, tmp_path).values()
    np.testing.assert_array_equal(tags, at_tokens(model(IDS)[0]))
    np.testing.assert_allclose(mean, model(IDS)[1], atol=1e-6)


@pytest.mark.parametrize(
    ("mask_of", "received"),
    [
        (lambda ids: ids[..., 1] != 47, "another mask"),  # No full stops.
        # Not more than 50 words.
        (
            lambda ids: (
                is_word(ids)
                & (keras.ops.cumsum(keras.ops.ones_like(ids[..., 0]), 1) <= 50)
            ),
            "another mask",
        ),
        # From the first word to the last.
        (
            lambda ids: keras.ops.flip(
                keras.ops.cumsum(keras.ops.flip(is_word(ids), 1), 1) > 0, 1
            ),
            "another mask",
        ),
        # Empty sentences have a word.
        (
            lambda ids: (
                is_word(ids)
                | ~keras.ops.any(is_word(ids), axis=1, keepdims=True)
            ),
            "another mask",
        ),
        (lambda ids: None, "no mask"),
    ],
    ids=["words", "long", "inside", "empty", "none"],
)
def test_other_masks_are_refused(mask_of, received, tmp_path, monkeypatch):
    # Keras 3.16 passes no mask on here.
    monkeypatch.setattr(L.Bidirectional, "compute_mask", lambda *given: None)
    monkeypatch.setattr(CRF, "_check_that_no_mask_is_lost", lambda *given: None)
    ids = keras_input()
    x, mask = bilstm(2)(make_elmo()(ids)), mask_of(ids)
    for y in (
        bilstm()(x, mask=mask),
        L.LSTM(2, return_sequences=True)(x, mask=mask),
        CRFDecoder()(CRF(4)(x, mask=mask)),
        SentencePooling()(x, mask=mask),
    ):
        with pytest.raises(ValueError, match=f"layer '.*' with {received}"):
            export_onnx(keras.Model(ids, y), tmp_path / "tagger.onnx")


def test_an_elmo_layer_with_another_mask_is_refused(tmp_path):
    ids = keras_input()
    mask = keras.ops.not_equal(ids[..., 1], 47)
    model = keras.Model(ids, L.Dense(5)(make_elmo()(ids, mask=mask)))
    with pytest.raises(ValueError, match=r"'elmo_layer.*' with another mask"):
        export_onnx(model, tmp_path / "tagger.onnx")


@pytest.mark.parametrize("sizes", [(6, None), (None, 4)])
def test_masks_of_models_with_fixed_sizes(sizes, tmp_path):
    time, batch = sizes
    ids = keras.Input((time, 12), batch, dtype="int64")
    model = keras.Model(ids, bilstm()(make_elmo()(ids), mask=is_word(ids)))
    (found,) = answer(model, tmp_path).values()
    np.testing.assert_allclose(found, at_tokens(model(IDS)), atol=1e-6)


@pytest.mark.parametrize("keeps", [False, True])
def test_classifiers(keeps, tmp_path):
    ids = keras_input()
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
    found = answer(model, tmp_path, tag_names={"class": TAGS})
    names = ["class", "scores", "mean", "most"]
    assert list(found) == names
    for name, expected in zip(
        names, map(keras.ops.convert_to_numpy, model(IDS))
    ):
        x = found[name]
        if name == "scores":
            real = keras.ops.convert_to_numpy(elmo.compute_mask(IDS))
            expected = np.where(real[..., None], expected, 0)
        np.testing.assert_allclose(x, expected, atol=1e-5)
    no_words, *_ = model(np.zeros((2, 1, 12), "int32"))
    for shape in ((2, 0), (0, 3)):
        x = answer(model, tmp_path, np.zeros((*shape, 12), "int32"))["class"]
        np.testing.assert_allclose(x, no_words[: shape[0]], atol=1e-6)
    session = onnxruntime.InferenceSession(tmp_path / "tagger.onnx")
    shapes = [output.shape for output in session.get_outputs()]
    time = "output_time" if keeps else "time"
    b = "batch"
    assert shapes == [[b, 5], [b, time, 3], [b, 3], [b, 3]]


def test_a_model_that_was_called_in_another_one(tmp_path):
    model = keras.Sequential([keras_input(), make_elmo(), L.Dense(5)])
    expected = answer(model, tmp_path)
    ids = keras_input()
    keras.Model(ids, model(ids))
    found = answer(model, tmp_path)
    for name, x in expected.items():
        np.testing.assert_array_equal(found[name], x)


def test_the_names_of_the_tags_are_in_the_metadata(tmp_path):
    model = crf_tagger(decoder={"tag_names": TAGS})
    path = tmp_path / "tagger.onnx"
    for names, expected in (
        (None, TAGS),
        (TAGS[::-1], TAGS[::-1]),
        ({"tags": [b"A", *"bcde"]}, "Abcde"),
    ):
        export_onnx(model, path, tag_names=names, overwrite=True)
        meta = onnxruntime.InferenceSession(path).get_modelmeta()
        found = json.loads(meta.custom_metadata_map["tags_tag_names"])
        assert found == list(expected)
    for names in ({"tag": TAGS}, {"tags": "ab"}, "ab", []):
        with pytest.raises(ValueError, match="`tag_names` must be"):
            export_onnx(model, tmp_path / "other.onnx", tag_names=names)


@pytest.mark.parametrize("mode", ["int8", "int4"])
@pytest.mark.filterwarnings("ignore:Layer .* is skipped")
def test_a_model_that_keras_quantized_is_refused(mode, tmp_path):
    ids = keras_input()
    model = keras.Model(ids, L.Dense(4, name="tags")(make_elmo()(ids)))
    model.get_layer("tags").quantize(mode)
    with pytest.raises(ValueError, match=f"'tags' in mode '{mode}'"):
        export_onnx(model, tmp_path / "tagger.onnx")


def test_a_layer_with_lora(tmp_path):
    ids = keras_input()
    model = keras.Model(ids, L.Dense(4, name="tags")(make_elmo()(ids)))
    layer = model.get_layer("tags")
    layer.enable_lora(2)
    layer.lora_kernel_b.assign(np.ones((2, 4)))
    (found,) = answer(model, tmp_path).values()
    np.testing.assert_allclose(found, at_tokens(model(IDS)), atol=1e-5)


def test_the_time_of_a_model_that_keeps_boundaries(tmp_path):
    ids = keras_input()
    tags = L.Dense(2, name="tags")(
        make_elmo(keep_sentence_boundaries=True)(ids)
    )
    path = tmp_path / "tagger.onnx"
    export_onnx(keras.Model(ids, tags), path)
    (output,) = onnxruntime.InferenceSession(path).get_outputs()
    assert output.shape == ["batch", "output_time", 2]
    with pytest.raises(ValueError, match="each output of a model must be that"):
        export_onnx(keras.Model(ids, [tags, ids]), tmp_path / "other.onnx")


def test_models_that_do_not_start_with_elmo_are_refused(tmp_path):
    ids = keras_input()
    stack = make_elmo(return_all_layers=True)(ids)
    for model, message in (
        (two_inputs(), "with a mask|exactly one input|by hand"),
        (keras.Model(ids, L.Rescaling(2.0)(ids)), "is its first layer"),
        (keras.Model(ids, L.Dense(2)(stack)), "mixes its layers"),
        (documents(), r"on ids of shape \(batch, time, chars\)"),
        (Subclassed(), "Functional or Sequential"),
    ):
        with pytest.raises(ValueError, match=message):
            export_onnx(model, tmp_path / "tagger.onnx")
