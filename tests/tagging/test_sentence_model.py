"""ELMo's vectors are computed apart from the rest of a model, if possible."""

import pickle

import keras
import numpy as np
import pytest
from small_models import make_shallow_elmo
from small_models import randomize
from tagging.small_taggers import BIO
from tagging.small_taggers import crf_tagger
from tagging.small_taggers import ids_input
from tiers import quick_first

from keras_elmo import CRF
from keras_elmo import CRFDecoder
from keras_elmo import ScalarMix
from keras_elmo import Tagger
from keras_elmo import WordVectors
from keras_elmo import batch_to_ids
from keras_elmo.tagging import sentence_model
from keras_elmo.tagging.sentence_model import SentenceModel
from keras_elmo.tagging.sentence_model import find_elmo

L = keras.layers
SENTENCES = [
    ["Ann", "met", "Bo", "in", "Århus", "."],
    [],
    ["", " ", "\ud800", "🎻" * 20, "met"],
    ["met"],
    ["a", "Bo"] * 20,
]


def tagged(ids, x, mask=None):
    """Ends a model in a CRF, with random weights after ELMo."""
    scores = CRF(5, name="crf")(L.Dense(5, name="dense")(x), mask=mask)
    decoder = CRFDecoder(tag_names=BIO, return_marginals=True, name="tags")
    model = keras.Model(ids, decoder(scores))
    for layer in model.layers:
        if layer.name in ("dense", "crf", "lstm", "convolution"):
            randomize(layer, 2.0)
    return model


def two_mixes(ids):
    elmo = make_shallow_elmo(num_representations=2, return_all_layers=False)
    for mix in elmo.scalar_mixes:
        randomize(mix)
    first, second = elmo(ids)
    lstm = L.LSTM(3, return_sequences=True, name="lstm")
    mask = elmo.compute_mask(ids)[0]
    x = L.Concatenate()([lstm(first, mask=mask), second])
    return tagged(ids, x, mask)


def implicit_mask(ids):
    lstm = L.Bidirectional(L.LSTM(3, return_sequences=True), name="lstm")
    elmo = make_shallow_elmo(scalar_mix=ScalarMix(fixed_weights=[0, 1]))
    return tagged(ids, lstm(L.Dropout(0.5)(elmo(ids))))


def convolution(ids):
    # It reads the zeros of padding beside the last words.
    elmo = make_shallow_elmo()
    layer = L.Conv1D(4, 3, padding="same", name="convolution")
    return tagged(ids, layer(elmo(ids)), elmo.compute_mask(ids))


def others_that_read_the_ids(ids):
    elmo = make_shallow_elmo()
    vectors = np.float32([[1, 2], [3, 4]])
    words = WordVectors(["met", "Bo"], vectors, max_characters_per_token=12)
    lengths = keras.ops.mean(keras.ops.cast(ids > 0, "float32"), axis=-1)
    x = L.Concatenate()([elmo(ids), words(ids), lengths[..., None]])
    return tagged(ids, x, elmo.compute_mask(ids))


def inside_a_sequential_model(ids):
    return keras.Sequential(
        [ids, *tagged(ids, make_shallow_elmo()(ids)).layers[1:]]
    )


MODELS = [
    two_mixes,
    implicit_mask,
    convolution,
    others_that_read_the_ids,
    inside_a_sequential_model,
]
if keras.backend.backend() == "jax":  # It compiles each shape of each model.
    del MODELS[1:]


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("batch_size", quick_first([None, 2]))
@pytest.mark.filterwarnings("ignore:Layer 'convolution'.*does not support mask")
def test_the_tags_are_those_of_the_whole_model(make, batch_size, monkeypatch):
    monkeypatch.setattr(sentence_model, "FEW_WORDS", 0)
    model = make(ids_input())
    assert find_elmo(model.inputs[0], model.outputs[0])[0] is not None
    tags, marginals = Tagger(model).predict(
        SENTENCES, batch_size=batch_size, return_marginals=True
    )
    for words, row, array in zip(SENTENCES, tags, marginals, strict=True):
        if not words:
            assert row == []
            continue
        # Beside a longer sentence, so that there is padding.
        both = model(batch_to_ids([words, ["a"] * 41], 12))
        numbers, expected = (keras.ops.convert_to_numpy(x)[0] for x in both)
        assert row == [BIO[i] for i in numbers[: len(words)]]
        np.testing.assert_allclose(array, expected[: len(words)], atol=1e-5)
    assert max(np.ptp(np.concatenate(marginals), axis=0)) > 0.01


def twice(ids):
    elmo = make_shallow_elmo()
    return tagged(ids, elmo(ids) + elmo(ids), elmo.compute_mask(ids))


def with_a_mask(ids):
    return tagged(ids, make_shallow_elmo()(ids, mask=ids[..., 0] > 0))


def with_layer_norm(ids):
    elmo = make_shallow_elmo(scalar_mix=ScalarMix(layer_norm=True))
    return tagged(ids, elmo(ids))


def with_a_state(ids):
    return tagged(ids, make_shallow_elmo()(ids, return_state=True)[0])


def with_all_layers(ids):
    return tagged(ids, make_shallow_elmo(return_all_layers=True)(ids)[:, 1])


def with_own_boundaries(ids):
    elmo = make_shallow_elmo(
        add_sentence_boundaries=False, keep_sentence_boundaries=True
    )
    return tagged(ids, elmo(ids))


def of_other_ids(ids):
    return tagged(ids, make_shallow_elmo()(ids * 1))


@pytest.mark.parametrize(
    "make",
    [
        twice,
        with_a_mask,
        with_layer_norm,
        with_a_state,
        with_all_layers,
        with_own_boundaries,
        of_other_ids,
    ],
)
def test_other_models_run_as_a_whole(make):
    model = make(ids_input())
    assert find_elmo(model.inputs[0], model.outputs[0]) == (None, [])
    with pytest.raises(ValueError, match=r"`quantize`.*one `ElmoLayer`, once"):
        Tagger(model, quantize="int8")


def test_a_model_in_8_bits(tmp_path):
    pytest.importorskip("onnxruntime")
    model = crf_tagger(scale=1.0)
    tagger, exact = Tagger(model, quantize="int8"), Tagger(model)
    many = [["a", "Bo", "met"], ["Ann"]] * 30
    tags, marginals = tagger.predict(many, return_marginals=True)
    _, expected = exact.predict(many, return_marginals=True)
    error = max(np.abs(a - b).max() for a, b in zip(marginals, expected))
    assert 1e-6 < error < 0.05
    (entities,) = tagger.predict_entities(many[:1])
    assert [x[:3] for x in entities] == Tagger.entities(tags[0])
    tagger.save(tmp_path / "ner.keras")
    assert Tagger.load(tmp_path / "ner.keras").quantize is None
    for copied in (
        Tagger.load(tmp_path / "ner.keras", quantize="int8"),
        pickle.loads(pickle.dumps(tagger)),
    ):
        assert copied.quantize == "int8"
        found = copied.predict(many, return_marginals=True)[1]
        np.testing.assert_allclose(found[0], marginals[0], atol=1e-6)
    with pytest.raises(ValueError, match=r"`quantize` .*Received: 'int4'"):
        Tagger(model, quantize="int4")


def test_the_sizes_of_batches():
    """Tokens times the square of the number of labels stay within a limit."""
    model = crf_tagger()
    for num_tags, batch_size, expected in [
        (5, None, [slice(0, 4), slice(4, 5)]),
        (5, 2, [slice(0, 2), slice(2, 4), slice(4, 5)]),
        (300, None, [slice(0, 2), slice(2, 3), slice(3, 4), slice(4, 5)]),
    ]:
        runner = SentenceModel(model, model.outputs[0], None, num_tags)
        lengths = [1, 90, 100, 1024, 20_000]
        assert [*runner._parts(lengths, batch_size)] == expected
    assert [*runner._parts([], None)] == []
