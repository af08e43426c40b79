"""The programs in `examples/`, on tiny texts and models."""

import runpy
import sys

import keras
import numpy as np
import pytest
from conftest import ROOT
from small_models import make_elmo

from keras_elmo import Tagger
from keras_elmo import batch_to_ids
from keras_elmo.text import read_conll

pytestmark = pytest.mark.usefixtures("built_optimizers")
portable = pytest.mark.usefixtures("portable_path")
TEXT = """\
The children play in the garden .
The play had a first night .
The children play in the park .
The play had a second night .
Now play it again .

They play cards at the friendliest bank .
They play cards at the friendliest bank .
"""
SOURCE = "The children play in the garden ."


@pytest.fixture
def elmo():
    return make_elmo()


@pytest.fixture
def arguments(elmo, tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    elmo.save_to_bilm(model / "options.json", model / "weights.hdf5")
    text = tmp_path / "text.txt"
    text.write_text(TEXT)
    return ["--model", model, "--text", text, "--words", "play"]


def run(monkeypatch, *arguments):
    path = str(ROOT / "examples" / "neighbours.py")
    monkeypatch.setattr(sys, "argv", [path, *map(str, arguments)])
    runpy.run_path(path, run_name="__main__")


def cosines(elmo, text, place, layer):
    """Cosines of the word at `place` of `SOURCE` with the words of a text."""
    source, other = (
        np.asarray(elmo.all_layers(batch_to_ids([s.split()], 12)))[0, layer]
        for s in (SOURCE, text)
    )
    source = source[place] / np.linalg.norm(source[place])
    return other @ source / np.linalg.norm(other, axis=-1)


@portable
@pytest.mark.parametrize("same_word", [False, True])
@pytest.mark.exhaustive
def test_neighbours_are_the_nearest_by_layer(
    elmo, arguments, monkeypatch, capsys, same_word
):
    options = ["--same-word"] if same_word else []
    run(monkeypatch, *arguments, *options, "--source", SOURCE)
    shown = capsys.readouterr().out.split("\nThe children [play]")[1]
    found = [line.split() for line in shown.splitlines() if "[" in line]
    others = set(TEXT.splitlines()) - {SOURCE, ""}
    for layer in (1, 2):
        expected = []
        for text in others:
            values = cosines(elmo, text, 2, layer)
            if same_word:
                words = np.array(text.split())
                values = np.where(words == "play", values, -2)
            expected.append((values.max(), text.split()[values.argmax()]))
        expected.sort(reverse=True)
        lines = [line for line in found if line[0] == str(layer)]
        assert len(lines) == len(others)
        for line, (cosine, word) in zip(lines, expected):
            assert abs(float(line[1]) - cosine) < 6e-4
            assert f"[{word}]" in line
            assert word == "play" or not same_word


@portable
def test_neighbours_of_an_invented_word_are_known_ones(
    elmo, arguments, monkeypatch, capsys
):
    run(monkeypatch, *arguments, "--invented", "unfriendliest", "--top", 1)
    shown = capsys.readouterr().out
    words = sorted(set(TEXT.split()))
    vectors = np.asarray(elmo.token_encoder(batch_to_ids([words], 12)))[0]
    vectors = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    query = batch_to_ids([["unfriendliest"]], 12)
    query = np.asarray(elmo.token_encoder(query))[0, 0]
    expected = words[(vectors @ query).argmax()]
    assert f"unfriendliest (0 times): {expected} " in shown
    assert "play (7 times): " in shown


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (["--words", "bark"], "'bark' is in no --source sentence"),
        (["--words", "spring"], "None of the sentences has the word 'spring'"),
    ],
)
def test_words_that_are_nowhere_are_named(
    arguments, monkeypatch, capsys, changed, message
):
    with pytest.raises(SystemExit) as error:
        run(monkeypatch, *arguments, *changed)
    assert message in capsys.readouterr().err + str(error.value)


@pytest.mark.exhaustive
def test_ner(tmp_path, capsys):
    if keras.backend.backend() != "tensorflow":
        pytest.skip("TensorFlow alone exports.")
    ner = runpy.run_path(str(ROOT / "examples" / "ner.py"))
    blocks = (ner["DATA"] / "train.conll").read_text("utf-8").split("\n\n")
    few = [block for block in blocks if "B-" in block and len(block) < 120][:16]
    file = tmp_path / "few.conll"
    file.write_text("\n\n".join(few), "utf-8")
    ner["main"](
        [f"--{part}={file}" for part in ("train", "dev", "test")]
        + ["--epochs=20", f"--output={tmp_path}"]
    )
    shown = capsys.readouterr().out
    assert "val_crf_accuracy: " in shown
    sentences, tags = read_conll(file)
    tagger = Tagger.load(tmp_path / "ner.keras")
    scores = tagger.evaluate(sentences, tags)
    assert scores["f1"] > 0.5
    assert f"{file}: entity F1 {scores['f1']:.3f}\n" in shown
    first = " ".join(sentences[0])
    tagged = " ".join(
        map("/".join, zip(sentences[0], tagger.predict(sentences[:1])[0]))
    )
    assert f"\n{tagged}\n" in shown
    assert served_tags(tmp_path / "served/1", first) == tagged


@pytest.mark.exhaustive
def test_batches_of_ner_are_all_sentences():
    ner = runpy.run_path(str(ROOT / "examples" / "ner.py"))
    sentences, tags = [["Ann", "Lee", "left"], ["Hello"], ["In", "Oslo"]], [
        ["B-PER", "I-PER", "O"],
        ["O"],
        ["O", "B-LOC"],
    ]  # fmt: skip
    labels = ["O", "B-LOC", "B-PER", "I-PER"]
    batches = ner["Batches"](sentences, tags, labels, size=2)
    found = [batches[i] for i in range(len(batches))]
    assert [x.shape for x, _ in found] == [(2, 2, 50), (1, 3, 50)]
    assert [y.tolist() for _, y in found] == [[[0, -1], [0, 1]], [[2, 3, 0]]]
    np.testing.assert_array_equal(found[1][0], batch_to_ids(sentences[:1]))


def served_tags(folder, text):
    """Returns the answer of an exported tagger."""
    import tensorflow as tf

    answer = tf.saved_model.load(str(folder)).signatures["default"](
        strings=tf.constant([text])
    )
    rows = (answer[name][0].numpy() for name in ("tokens", "tags_labels"))
    return b" ".join(map(b"/".join, zip(*rows))).decode()
