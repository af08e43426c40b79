"""Sentences, their layers, and batches of both."""

import data
import numpy as np
import pytest
from benchmarks_tagging.tagging_data import write_bilm
from data import Batches
from data import Sentence
from data import read_tagged

SENTENCES = [
    Sentence(["Ann", "Lee", "met", "Bob"], ["B-a", "I-a", "O", "B-a"]),
    Sentence(["he", "slept"], ["O", "O"]),
    Sentence(["Cy"], ["B-a"]),
] * 4
NUMBERS = {"he": 2, "met": 3}


def test_files_are_read(tmp_path):
    path = tmp_path / "file.conll"
    path.write_text("\ufeffAnn\tB-per\n#1\tO\n\t\n\n\na b\tO\n", "utf-8")
    assert read_tagged(path) == [
        (["Ann", "#1"], ["B-per", "O"]),
        (["a b"], ["O"]),
    ]
    path.write_text("a\tO\nb\n")
    with pytest.raises(ValueError, match="conll', line 2: expected 2 columns"):
        read_tagged(path)


def test_batches_cover_all_sentences_in_each_epoch():
    layers = [np.full((2, len(s.words), 3), i) for i, s in enumerate(SENTENCES)]
    batches = Batches(SENTENCES, layers, NUMBERS, ["O", "B-a", "I-a"], 5, 1)
    assert len(batches) == 3
    found = []
    for chosen, inputs in batches.in_order():
        found += chosen.tolist()
        for row, i in enumerate(chosen):
            words = SENTENCES[i].words
            rows = inputs["characters"][inputs["places"][row]][: len(words)]
            for characters, word in zip(rows, words):
                # After the mark of a word's begin; ids are bytes + 1.
                spelled = characters[1 : len(word) + 1] - 1
                assert bytes(spelled.tolist()).decode() == word
            numbers = [NUMBERS.get(word.lower(), 1) for word in words]
            time = inputs["words"].shape[1]
            padded = [*numbers, *[0] * (time - len(words))]
            assert inputs["words"][row].tolist() == padded
            assert (inputs["layer_1"][row, : len(words)] == i).all()
            assert not inputs["layer_1"][row, len(words) :].any()
    assert sorted(found) == list(range(len(SENTENCES)))
    epochs = [
        [tags.numpy() for _, tags in batches.dataset().take(3)] for _ in "12"
    ]
    for epoch in epochs:
        assert sum((tags >= 0).sum() for tags in epoch) == 28


@pytest.mark.usefixtures("portable_path")
def test_layers_in_a_folder_are_computed_once(tmp_path, monkeypatch):
    preset = write_bilm(tmp_path / "model")
    first = data.compute_layers(preset, SENTENCES, tmp_path / "layers")
    monkeypatch.setattr(data.keras_elmo, "ElmoEmbedder", None)
    again = data.compute_layers(preset, SENTENCES, tmp_path / "layers")
    assert [x.shape for x in first[:3]] == [(3, 4, 12), (3, 2, 12), (3, 1, 12)]
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(TypeError):  # Another text is computed anew.
        data.compute_layers(preset, SENTENCES[1:], tmp_path / "layers")
