"""An exported `ElmoLayer`, run from C, from Python and from Keras.

The program in C, `serve.c`, loads the SavedModel as a graph and a session, as
TensorFlow Serving does, without Python and without this package.
"""

import os
import threading

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops
from serving.answers import check
from serving.answers import hub_answer
from serving.answers import padded
from small_models import ENGLISH_TINY
from small_models import make_elmo
from small_models import make_shallow_elmo
from tiers import quick_first

import keras_elmo
from keras_elmo import BiLMEncoder
from keras_elmo import CharCNNEmbedding
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
LONG = [f"word{i % 700}" for i in range(5000)]


def joined(sentences):
    return [" ".join(sentence) for sentence in sentences]


def requests(sentences, width):
    """Returns the same sentences as a request for each signature."""
    return [
        ("default", {"strings": joined(sentences)}),
        ("tokens", padded(sentences)),
        ("character_ids", {"ids": batch_to_ids(sentences, width)}),
        ("serving_default", {"strings": joined(sentences)}),
    ]


@pytest.mark.exhaustive
def test_every_signature_answers_outside_python(ask, tmp_path):
    preset = ElmoLayer.from_preset(ENGLISH_TINY)
    export_saved_model(preset, tmp_path)
    asked = requests(SENTENCES, 50)
    *answers, long = ask(
        tmp_path, *asked, ("default", {"strings": joined([LONG])})
    )
    expected = hub_answer(preset, SENTENCES)
    assert set(expected) == {
        *("word_emb", "lstm_outputs1", "lstm_outputs2", "elmo", "default")
    }
    for answer in answers:
        check(answer, expected)
    check(long, hub_answer(preset, [LONG]))


def test_an_empty_word_is_none_of_the_padding(ask, elmo, exported):
    sentences = [["", "a", ""], ["b"], [""]]
    (answer,) = ask(exported, ("tokens", padded(sentences)))
    check(answer, hub_answer(elmo, sentences))
    assert answer["elmo"][2, 0].any()


@pytest.mark.exhaustive
def test_as_many_layers_as_there_are(ask, tmp_path):
    elmo = make_elmo(lstm={"num_layers": 3})
    export_saved_model(elmo, tmp_path)
    (answer,) = ask(tmp_path, ("tokens", padded(SENTENCES)))
    check(answer, hub_answer(elmo, SENTENCES))
    assert "lstm_outputs3" in answer


@pytest.mark.exhaustive
def test_further_representations_have_names_of_their_own(ask, tmp_path):
    elmo = make_shallow_elmo(num_representations=2)
    elmo.scalar_mixes[1].gamma.assign(3.0)
    export_saved_model(elmo, tmp_path)
    (answer,) = ask(tmp_path, ("tokens", padded(SENTENCES)))
    mixes = elmo(batch_to_ids(SENTENCES, 12))
    for name, mix in zip(("elmo", "elmo_1"), mixes):
        np.testing.assert_allclose(answer[name], mix, atol=1e-5)
    assert np.abs(answer["elmo"] - answer["elmo_1"]).max() > 0.1


@pytest.mark.exhaustive
def test_without_a_mix_elmo_is_the_average(ask, tmp_path):
    elmo = make_shallow_elmo(return_all_layers=True)
    export_saved_model(elmo, tmp_path)
    (answer,) = ask(tmp_path, ("default", {"strings": joined(SENTENCES)}))
    layers = ops.convert_to_numpy(elmo(batch_to_ids(SENTENCES, 12)))
    np.testing.assert_allclose(answer["elmo"], layers.mean(axis=1), atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"keep_sentence_boundaries": True},
        {"add_sentence_boundaries": False},
        {"scalar_mix": ScalarMix(layer_norm=True)},
        {"dtype": "mixed_bfloat16"},
        {"dropout": 0.5},
    ],
    ids=str,
)
@pytest.mark.exhaustive
def test_layers_of_all_kinds(ask, tmp_path, options):
    elmo = make_shallow_elmo(**options)
    export_saved_model(elmo, tmp_path)
    sentences = [["<S>", *s, "</S>"] for s in SENTENCES]
    (answer,) = ask(tmp_path, ("default", {"strings": joined(sentences)}))
    expected = ops.convert_to_numpy(
        ops.cast(elmo(batch_to_ids(sentences, 12)), "float32")
    )
    tolerance = 0.05 if "dtype" in options else 1e-5
    np.testing.assert_allclose(answer["elmo"], expected, atol=tolerance)
    number = [len(s) + 2 for s in SENTENCES]
    if "keep_sentence_boundaries" in options:
        number = [n + 2 for n in number]
    if "add_sentence_boundaries" in options:
        number = [n - 2 for n in number]
    mean = expected.sum(axis=1) / np.maximum(number, 1)[:, None]
    np.testing.assert_allclose(answer["default"], mean, atol=tolerance)
    assert answer["word_emb"].shape[1] == expected.shape[1]


@pytest.mark.parametrize("name", quick_first(["tokens", "character_ids"]))
def test_the_default_is_chosen(ask, tmp_path, name):
    ids = keras.Input((None, 12), dtype="int32")
    model = keras.Model(ids, keras.layers.Rescaling(0.5, name="half")(ids))
    export_saved_model(model, tmp_path, serving_default=name)
    inputs = dict(requests(SENTENCES, 12))[name]
    (answer,) = ask(tmp_path, ("serving_default", inputs))
    check(answer, {"half": batch_to_ids(SENTENCES, 12) * np.float32(0.5)})


def test_code_for_the_hub_runs_unchanged(elmo, exported):
    loaded = tf.saved_model.load(exported)
    assert set(loaded.signatures) == {
        *("default", "tokens", "character_ids", "serving_default")
    }
    expected = hub_answer(elmo, SENTENCES)
    inputs = padded(SENTENCES)
    answer = loaded.signatures["tokens"](
        tokens=tf.constant(inputs["tokens"]),
        sequence_len=tf.constant(inputs["sequence_len"]),
    )
    check(answer, expected)
    strings = tf.constant(joined(SENTENCES))
    check(loaded.signatures["default"](strings), expected)  # By position.
    check(loaded.signatures["default"](strings=strings), expected)


@pytest.mark.exhaustive
def test_as_a_layer_of_a_new_model(elmo, exported):
    expected = hub_answer(elmo, SENTENCES)
    tokens = keras.Input((None,), dtype="string")
    lengths = keras.Input((), dtype="int32")
    layer = keras.layers.TFSMLayer(exported, call_endpoint="tokens")
    vectors = layer(tokens, sequence_len=lengths)["elmo"]
    model = keras.Model([tokens, lengths], vectors)
    inputs = padded(SENTENCES)
    found = model(
        [tf.constant(inputs["tokens"]), tf.constant(inputs["sequence_len"])]
    )
    np.testing.assert_allclose(found, expected["elmo"], atol=1e-5)


def test_one_copy_of_the_variables(elmo, exported):
    found = tf.train.load_checkpoint(f"{exported}/variables/variables")
    shapes = found.get_variable_to_shape_map()
    del shapes["_CHECKPOINTABLE_OBJECT_GRAPH"]
    expected = [list(variable.shape) for variable in elmo.weights]
    assert sorted(shapes.values()) == sorted(expected)


@pytest.mark.exhaustive
def test_an_unbuilt_layer_is_built(ask, tmp_path):
    made = make_shallow_elmo()
    elmo = ElmoLayer.from_config(made.get_config())
    export_saved_model(elmo, tmp_path)
    (answer,) = ask(tmp_path, ("tokens", padded(SENTENCES)))
    check(answer, hub_answer(elmo, SENTENCES))


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


def test_a_failure_leaves_nothing(elmo, tmp_path, monkeypatch):
    def write_out(self, path, **kwargs):
        os.makedirs(os.path.join(path, "variables"))
        raise tf.errors.ResourceExhaustedError(None, None, "disk is full")

    monkeypatch.setattr(
        type(keras.export.ExportArchive()), "write_out", write_out
    )
    with pytest.raises(OSError, match="elmo' cannot be written: disk is full"):
        export_saved_model(elmo, tmp_path / "elmo")
    assert os.listdir(tmp_path) == []


@pytest.fixture
def quick_export(monkeypatch):
    """Replaces writing by a fast stub that calls a function from this list."""
    calls = []

    def write_out(self, path, **kwargs):
        if calls:
            calls.pop()()
        open(os.path.join(path, "saved_model.pb"), "w").close()

    kind = type(keras.export.ExportArchive())
    monkeypatch.setattr(kind, "write_out", write_out)
    monkeypatch.setattr(kind, "add_endpoint", lambda *args: None)
    return calls


def test_two_exports_at_a_time(elmo, tmp_path, quick_export):
    path = tmp_path / "1"
    other = threading.Thread(
        target=export_saved_model,
        args=(elmo, path),
        kwargs={"overwrite": True},
    )
    quick_export.append(other.start)
    export_saved_model(elmo, path)
    other.join()
    assert os.listdir(tmp_path) == ["1"]
    assert os.listdir(path) == ["saved_model.pb"]


def test_export_needs_tensorflow(elmo, tmp_path, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "torch")
    with pytest.raises(RuntimeError, match="backend='torch'"):
        keras_elmo.export_saved_model(elmo, tmp_path)


@pytest.mark.exhaustive
def test_a_model_is_only_overwritten_on_demand(elmo, tmp_path):
    other = make_shallow_elmo()
    other.scalar_mixes[0].gamma.assign(3.0)
    path = tmp_path / "elmo/1"
    export_saved_model(other, path)
    with pytest.raises(FileExistsError, match="pass `overwrite=True`"):
        export_saved_model(elmo, path)
    (path / "notes.txt").write_text("mine")
    export_saved_model(elmo, path, overwrite=True)
    signatures = tf.saved_model.load(path).signatures
    answer = signatures["default"](tf.constant(joined(SENTENCES)))
    check(answer, hub_answer(elmo, SENTENCES))
    assert (path / "notes.txt").read_text() == "mine"


class Unmasked(keras.layers.Layer):
    """A token encoder of one's own, for which no token is padding."""

    token_shape = (12,)

    def __init__(self):
        super().__init__()
        self.characters = CharCNNEmbedding(
            6, [(1, 4)], 0, max_characters_per_token=12
        )
        self.boundary_ids = self.characters.boundary_ids

    def build(self, input_shape):
        self.characters.build(input_shape)

    def call(self, inputs):
        return self.characters(inputs)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], 6)


@pytest.mark.exhaustive
def test_a_token_encoder_without_a_mask(tmp_path):
    elmo = ElmoLayer(Unmasked(), BiLMEncoder(7, 6))
    export_saved_model(elmo, tmp_path / "elmo")
    words = [["A", "bird"], ["Two", "birds"]]
    expected = elmo(batch_to_ids(words, 12)).numpy()
    strings = tf.constant([" ".join(sentence) for sentence in words])
    answer = tf.saved_model.load(tmp_path / "elmo").signatures["default"](
        strings
    )
    np.testing.assert_allclose(answer["elmo"], expected, 1e-5, 1e-6)
    np.testing.assert_allclose(
        answer["default"], expected.mean(axis=1), 1e-5, 1e-6
    )
