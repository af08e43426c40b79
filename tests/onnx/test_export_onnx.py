"""An `ElmoLayer` as an ONNX file, run by onnxruntime."""

import os
import pathlib
import runpy
import subprocess
import sys

import keras
import numpy as np
import onnx
import pytest
from comparisons import check_answer
from onnx_sessions import answer
from onnx_sessions import open_session
from small_models import ENGLISH_TINY
from small_models import make_elmo
from text.listed_characters import CHARACTERS
from tiers import quick_first

from keras_elmo import BiLMEncoder
from keras_elmo import CharCNNEmbedding
from keras_elmo import ElmoLayer
from keras_elmo import ScalarMix
from keras_elmo import batch_to_ids
from keras_elmo import export_onnx
from keras_elmo.layers.lexicon_embedding import LexiconEmbedding
from keras_elmo.serving.elmo_outputs import ElmoOutputs

# The expected values are then computed without a graph.
pytestmark = pytest.mark.usefixtures("portable_path")
CLIENT = pathlib.Path(__file__).parents[2] / "examples/onnx/client.py"
SENTENCES = [
    ["The", "café", "x" * 80],
    [],
    ["東京", "\N{GRINNING FACE}", "naïve", "—", "The"],
    ["", "<S>"],
]


NOTHING = (2, 0), (0, 3), (0, 0), (2, 1)
EMPTY = [np.zeros((*shape, 12), "int32") for shape in NOTHING]


def expected(elmo, ids):
    outputs = ElmoOutputs(elmo)(ids)
    return {k: keras.ops.convert_to_numpy(v) for k, v in outputs.items()}


NO_BOUNDARIES = {"add_sentence_boundaries": False}
BOUNDARIES = {"keep_sentence_boundaries": True}


def without_skips(**kwargs):
    lstm = {"use_skip_connections": False, "cell_clip": 0.2, "num_layers": 3}
    return make_elmo({"activation": "tanh"}, lstm, **kwargs)


def without_clips(**kwargs):
    lstm = {"num_layers": 1, "cell_clip": None, "proj_clip": None}
    return make_elmo({"num_highways": 0}, lstm, **kwargs)


def without_projections(**kwargs):
    cnn = {"filters": [(12, 6)], "projection_dim": None}
    return make_elmo(cnn, {"projection_dim": None, "units": 6}, **kwargs)


def unbuilt():
    return ElmoLayer.from_config(make_elmo().get_config())


@pytest.mark.parametrize(
    ("make", "options"),
    quick_first(
        [
            (make_elmo, {"num_representations": 2}),
            (without_skips, {}),
            (without_clips, NO_BOUNDARIES),
            (without_projections, BOUNDARIES),
            (make_elmo, NO_BOUNDARIES | BOUNDARIES),
            (make_elmo, {"scalar_mix": ScalarMix(layer_norm=True)}),
            (make_elmo, {"return_all_layers": True}),
            (unbuilt, {}),
        ],
        4,
    ),
)
def test_the_vectors_are_the_layers(make, options, tmp_path):
    elmo = make(**options)
    for mix in elmo.scalar_mixes if elmo.built else ():
        mix.gamma.assign(1.5)
        mix.scalars.assign(np.arange(mix.scalars.shape[0]))
    path = str(tmp_path / "elmo.onnx")
    export_onnx(elmo, path)
    session = open_session(path)
    sentences = SENTENCES
    if not elmo.add_sentence_boundaries:
        sentences = [["<S>", *sentence, "</S>"] for sentence in SENTENCES]
    ids = batch_to_ids(sentences, 12)
    more_padding = np.pad(ids[:3], ((0, 2), (0, 4), (0, 0)))
    # The common padding of short words is not computed.
    short = batch_to_ids([["<S>", "I", "am", "</S>"], ["<S>", "</S>"]], 12)
    # Padding on the left of words and between them.
    is_word = np.random.default_rng(1).random(ids.shape[:2]) < 0.7
    inside = ids * is_word[..., None]
    for x in (ids, more_padding, short, inside, *EMPTY):
        found, vectors = answer(session, ids=x), expected(elmo, x)
        assert list(found) == list(vectors)
        check_answer(found, vectors)


def test_wrong_ids_get_an_error(tmp_path):
    path = str(tmp_path / "elmo.onnx")
    export_onnx(make_elmo(), path)
    session = open_session(path)
    ids = batch_to_ids(SENTENCES, 12)
    for wrong in (ids + 262, ids - 1, ids.astype("int64"), ids[:, :, :5]):
        with pytest.raises(Exception, match=r"(?i)data bounds|invalid"):
            session.run(None, {"ids": wrong})


@pytest.mark.exhaustive
def test_eight_bits_change_a_trained_models_layers_by_two_percent(
    shared, tmp_path
):
    elmo, path = ElmoLayer.from_preset(ENGLISH_TINY), tmp_path / "elmo.onnx"
    export_onnx(elmo, path, quantize="int8")
    assert os.path.getsize(path) < 1.2 * elmo.count_params()
    lines = (shared / "data/english_lm/heldout.txt").read_text().splitlines()
    ids = batch_to_ids([line.split() for line in lines[:64]])
    found = answer(open_session(path), ids=ids)
    for name, array in expected(elmo, ids).items():
        error = np.linalg.norm(found[name] - array) / np.linalg.norm(array)
        assert 0.001 < error < 0.02, name


@pytest.mark.parametrize("quantize", [None, "int8"])
def test_the_operators_are_those_that_the_docs_name(quantize, tmp_path):
    path, elmo = str(tmp_path / "elmo.onnx"), make_elmo()
    export_onnx(elmo, path, quantize=quantize)
    for ids in EMPTY:
        check_answer(answer(open_session(path), ids=ids), expected(elmo, ids))
    model = onnx.load(path)
    onnx.checker.check_model(model)

    def operators(graph):
        for node in graph.node:
            yield node.domain, node.op_type
            for attribute in node.attribute:
                yield from operators(attribute.g)

    own = {kind for domain, kind in operators(model.graph) if domain}
    assert own == ({"MatMulNBits"} if quantize else set())
    versions = {opset.domain: opset.version for opset in model.opset_import}
    assert versions == {"": 18, **({"com.microsoft": 1} if quantize else {})}


def unchanged(x):
    return x


class Clipped(BiLMEncoder):
    """An encoder that computes something else."""


def test_what_cannot_be_exported_is_refused(tmp_path):
    elmo = make_elmo()
    lexicon = LexiconEmbedding(CHARACTERS, None, 6, [(1, 3)])
    lexicon = ElmoLayer(lexicon, elmo.encoder)
    gelu, own = (
        ElmoLayer(CharCNNEmbedding(6, [(1, 4)], activation=f), elmo.encoder)
        for f in ("gelu", unchanged)
    )
    dense = keras.layers.Dense(2)
    clipped = ElmoLayer(elmo.token_encoder, Clipped(7, 6))
    for model, quantize, message in (
        (lexicon, None, "must be a `CharCNNEmbedding`.*LexiconEmbedding"),
        (gelu, None, r"\['relu', 'sigmoid', 'tanh'\]. Received: 'gelu'"),
        (own, None, r"'tanh'\]. Received: .*unchanged"),
        (clipped, None, "encoder .* must be a `BiLMEncoder`.*Clipped"),
        (dense, None, "must be an `ElmoLayer` or a Keras model.*Dense"),
        (elmo, "int4", "`quantize` must be one of .* Received: 'int4'"),
    ):
        with pytest.raises(ValueError, match=message):
            export_onnx(model, tmp_path / "elmo.onnx", quantize=quantize)
    assert os.listdir(tmp_path) == []


def test_a_file_is_only_replaced_on_demand_and_by_a_whole_one(tmp_path):
    path, elmo = tmp_path / "elmo.onnx", make_elmo()
    path.write_bytes(b"the one before")
    with pytest.raises(FileExistsError, match="pass `overwrite=True`"):
        export_onnx(elmo, path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx.checker, "MAXIMUM_PROTOBUF", 1000)
        with pytest.raises(ValueError, match=r"at most 2 GB.*quantize"):
            export_onnx(elmo, path, overwrite=True)
        patch.setitem(sys.modules, "onnx", None)
        with pytest.raises(ImportError, match="pip install onnx"):
            export_onnx(elmo, path, overwrite=True)
    assert path.read_bytes() == b"the one before"
    assert os.listdir(tmp_path) == ["elmo.onnx"]
    export_onnx(elmo, path, overwrite=True)
    open_session(path)


def test_the_client_needs_neither_tensorflow_nor_this_package(
    tmp_path, monkeypatch
):
    elmo = make_elmo()
    export_onnx(elmo, tmp_path / "elmo.onnx")
    vectors = expected(elmo, batch_to_ids(SENTENCES, 12))
    for name in ("tensorflow", "keras", "keras_elmo", "onnx"):
        monkeypatch.setitem(sys.modules, name, None)
    client = runpy.run_path(str(CLIENT))
    run = client["Elmo"](tmp_path / "elmo.onnx", num_threads=1)
    check_answer(run(SENTENCES), vectors)


def run_client(folder, *arguments):
    return subprocess.run(
        [sys.executable, CLIENT, *arguments],
        cwd=folder,
        timeout=300,
        capture_output=True,
        text=True,
    )


def test_the_client_prints_the_nearest_words_or_what_it_needs(tmp_path):
    export_onnx(make_elmo(), tmp_path / "elmo.onnx", quantize="int8")
    ids = keras.Input((None, 12), dtype="int32")
    tags = keras.layers.Dense(2, name="tags")(make_elmo()(ids))
    export_onnx(keras.Model(ids, tags), tmp_path / "tagger.onnx")
    done = run_client(tmp_path, "elmo.onnx", "One word .", "Another word .")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        *("One", "word", ".")
    ]
    for name, *sentences, message in (
        ("missing.onnx", "One word .", "Another .", "no file missing.onnx"),
        ("tagger.onnx", "One word .", " ", "give two or more sentences"),
        ("tagger.onnx", "One", "word", "has no output 'elmo', but ['tags']"),
    ):
        done = run_client(tmp_path, name, *sentences)
        assert done.returncode == 2 and message in done.stderr
        assert "Traceback" not in done.stderr
