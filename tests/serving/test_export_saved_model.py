"""An exported `ElmoLayer`, run from C, from Python and from Keras.

The program in C, `serve.c`, loads the SavedModel as a graph and a session, as
TensorFlow Serving does, without Python and without this package.
"""

import json
import os
import pathlib

import keras
import pytest
import tensorflow as tf
from comparisons import check_answer
from serving.answers import hub_answer
from serving.answers import requests
from small_models import ENGLISH_TINY
from small_models import make_shallow_elmo
from tiers import quick_first

from keras_elmo import ElmoLayer
from keras_elmo import ScalarMix
from keras_elmo import batch_to_ids
from keras_elmo import export_saved_model

SENTENCES = [
    ["The", "café", "in", "São", "Paulo", "."],
    [],
    ["東京", "へ", "\N{GRINNING FACE}", "x" * 80],
    ["naïve", "<S>", "—"],
]
BOUNDED = [["<S>", *sentence, "</S>"] for sentence in SENTENCES]


def unbuilt():
    return ElmoLayer.from_config(make_shallow_elmo().get_config())


def two_mixes():
    elmo = make_shallow_elmo(num_representations=2)
    elmo.scalar_mixes[1].gamma.assign(3.0)
    return elmo


def shallow(**options):
    return lambda: make_shallow_elmo(**options)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "make",
    [
        lambda: ElmoLayer.from_preset(ENGLISH_TINY),
        unbuilt,
        two_mixes,
        shallow(return_all_layers=True),
        shallow(keep_sentence_boundaries=True, dropout=0.5),
        shallow(add_sentence_boundaries=False),
        shallow(scalar_mix=ScalarMix(layer_norm=True)),
        shallow(dtype="mixed_bfloat16"),
    ],
)
def test_every_signature_answers_as_the_layer(ask, tmp_path, make):
    elmo = make()
    export_saved_model(elmo, tmp_path)
    sentences = SENTENCES if elmo.add_sentence_boundaries else BOUNDED
    ids = batch_to_ids(sentences, elmo.token_encoder.max_characters_per_token)
    tolerance = 0.05 if elmo.compute_dtype == "bfloat16" else 1e-5
    expected = hub_answer(elmo, sentences)
    for answer in ask(tmp_path, *requests(sentences, ids)):
        check_answer(answer, expected, tolerance)


@pytest.mark.exhaustive
def test_a_model_of_unicode_characters(ask, shared, tmp_path):
    folder = shared / "reference/elmo_for_many_langs/char_and_word"
    sentences = json.loads((folder / "sentences.json").read_text("utf-8"))
    elmo = ElmoLayer.from_preset(folder)
    export_saved_model(elmo, tmp_path)
    to_ids = elmo.token_encoder.make_vectorization().batch_to_ids
    # A server that merges requests pads with the first number in them.
    two = [["好", "今天", "a"], ["word"]]
    merged = to_ids(two).astype("int32")
    merged[1, 1:] = merged[1, 0, 0]
    wrong = to_ids([["a", "b"]])
    wrong[0, 1, -1] = 51
    *answers, both, refused = ask(
        tmp_path,
        *requests(sentences, to_ids(sentences)),
        ("character_ids", {"ids": merged}),
        ("character_ids", {"ids": wrong}),
    )
    expected = hub_answer(elmo, sentences)
    for answer in answers:
        check_answer(answer, expected)
    check_answer(both, hub_answer(elmo, two))
    assert "takes integer ids from 0 to" in refused


@pytest.mark.parametrize("name", quick_first(["tokens", "character_ids"]))
def test_the_default_is_chosen(ask, tmp_path, name):
    ids = keras.Input((None, 12), dtype="int32")
    model = keras.Model(ids, keras.layers.Rescaling(0.5, name="half")(ids))
    export_saved_model(model, tmp_path, serving_default=name)
    ids = batch_to_ids(SENTENCES, 12)
    inputs = dict(requests(SENTENCES, ids))[name]
    (answer,) = ask(tmp_path, ("serving_default", inputs))
    check_answer(answer, {"half": ids.astype("float32") / 2})


def test_one_copy_of_the_variables(elmo, exported):
    found = tf.train.load_checkpoint(f"{exported}/variables/variables")
    shapes = found.get_variable_to_shape_map()
    del shapes["_CHECKPOINTABLE_OBJECT_GRAPH"]
    expected = [list(variable.shape) for variable in elmo.weights]
    assert sorted(shapes.values()) == sorted(expected)


def test_what_is_no_model_of_characters(elmo, tmp_path):
    for model, options, message in (
        (elmo.token_encoder, {}, "`model` must be an `ElmoLayer` or a Keras"),
        (
            elmo,
            {"tag_names": {"elmo": ["a", "b"]}},
            "`tag_names` can only be used with a model",
        ),
        (elmo, {"serving_default": "serve"}, "`serving_default` must be one"),
    ):
        with pytest.raises(ValueError, match=message):
            export_saved_model(model, tmp_path / "elmo", **options)
    assert os.listdir(tmp_path) == []


def test_a_model_is_only_replaced_on_demand_and_by_a_whole_one(
    elmo, tmp_path, monkeypatch
):
    def write_out(self, folder, **kwargs):
        pathlib.Path(folder, "saved_model.pb").write_text("new")
        if is_full:
            raise tf.errors.ResourceExhaustedError(None, None, "disk is full")

    archive = type(keras.export.ExportArchive())
    monkeypatch.setattr(archive, "write_out", write_out)
    path, is_full = tmp_path / "1", True
    with pytest.raises(OSError, match="1' cannot be written: disk is full"):
        export_saved_model(elmo, path)
    assert os.listdir(tmp_path) == []
    is_full = False
    export_saved_model(elmo, path)
    (path / "saved_model.pb").write_text("old")
    with pytest.raises(FileExistsError, match="pass `overwrite=True`"):
        export_saved_model(elmo, path)
    assert (path / "saved_model.pb").read_text() == "old"
    export_saved_model(elmo, path, overwrite=True)
    assert (path / "saved_model.pb").read_text() == "new"
    assert os.listdir(path) == ["saved_model.pb"]


def test_export_needs_tensorflow(elmo, tmp_path, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "torch")
    with pytest.raises(RuntimeError, match="backend='torch'"):
        export_saved_model(elmo, tmp_path)
