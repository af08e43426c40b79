"""The code of README.md and of the pages that newcomers read next."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from doc_snippets import read_blocks
from doc_snippets import run_blocks

import keras_elmo

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Export is TensorFlow's."
)


def test_the_readme(tmp_path, monkeypatch, portable_path, capsys):
    """Each block runs on its own."""
    monkeypatch.chdir(tmp_path)
    english_pos, _, word = read_blocks("README.md")
    run_blocks([english_pos])
    stated = english_pos.splitlines()[-1]
    assert stated == f"# {capsys.readouterr().out.strip()}"
    run_blocks([word])
    stated = re.findall(r"# ([\d.]+)$", word, re.MULTILINE)
    assert len(stated) == 2
    printed = capsys.readouterr().out.split()
    for cosine, statement in zip(printed, stated, strict=True):
        assert float(cosine) == pytest.approx(float(statement), abs=0.01)
    # The control reads the word alone.
    run_blocks([word.replace('layers="top"', "layers=0")])
    assert capsys.readouterr().out == "1.00\n1.00\n"


def test_the_readmes_model(tmp_path, monkeypatch, built_optimizers):
    monkeypatch.chdir(tmp_path)
    names = run_blocks([read_blocks("README.md")[1]])
    sentence = ["Ann", "Lee", "slept", "."]
    (tags,) = keras_elmo.Tagger.load("ner.keras").predict([sentence])
    served = tf.saved_model.load("served/ner/1").signatures["default"]
    answer = served(tf.constant([" ".join(sentence)]))["tags_labels"]
    assert answer.numpy()[0].astype(str).tolist() == tags
    assert set(tags) <= set(names["labels"])


@pytest.mark.exhaustive
def test_the_start(tmp_path, monkeypatch, portable_path, built_optimizers):
    monkeypatch.chdir(tmp_path)
    names = run_blocks(read_blocks("docs/start.md"))
    assert names["vectors"].shape == (2, 3, 512)
    assert (tmp_path / "tagger.keras").is_file()
    # Padding does not count, however much of it there is.
    model, x, y = names["model"], names["x"], names["y"]
    padded = [
        np.pad(x, [(0, 0), (0, 3), (0, 0)]),
        np.pad(y, [(0, 0), (0, 3)], constant_values=-1),
    ]
    losses = [model.evaluate(*z, verbose=0) for z in ((x, y), padded)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    assert (tmp_path / "served/tagger/1/saved_model.pb").is_file()


def test_the_layer(tmp_path, monkeypatch, portable_path, built_optimizers):
    monkeypatch.chdir(tmp_path)
    classifier, two_mixes, documents = read_blocks("docs/layer.md")
    names = run_blocks([classifier])
    alone, padded = (
        names["model"](names["x"][1:, :2]),
        names["model"](names["x"]),
    )
    np.testing.assert_allclose(alone[0], padded[1], atol=1e-5)
    names = run_blocks([two_mixes], names)
    assert names["model"].output_shape == (None, None, 3)
    ids = keras_elmo.batch_to_ids([["First", "sentence", "."], ["Another"]])
    # Padding does not count.
    alone, padded = names["model"](ids[1:, :1])[0], names["model"](ids)[1, :1]
    np.testing.assert_allclose(alone, padded, atol=1e-5)
    names = run_blocks([documents], names)
    model, x = names["model"], names["x"]
    assert x.shape == (2, 2, 4, 50)
    np.testing.assert_allclose(model(x[1:, :1, :2])[0], model(x)[1], atol=1e-5)


def test_the_first_page_has_the_readmes_last_block():
    assert read_blocks("docs/index.md") == read_blocks("README.md")[-1:]


def test_the_shapes_on_the_page_of_everything():
    (diagram,) = read_blocks("docs/what-is-elmo.md", "text")
    shapes = [
        eval(shape, {"batch": None})
        for shape in re.findall(r"\(batch[^)]*\)", diagram)
    ]
    elmo = keras_elmo.ElmoLayer()  # The paper's sizes.
    vectors = elmo.token_encoder.compute_output_shape(shapes[1])
    layers = elmo.encoder.compute_output_shape(vectors)
    assert f"{len(layers)} x (batch" in diagram
    output = elmo.compute_output_shape(shapes[0])
    assert shapes[2:] == [vectors, layers[0], output]
