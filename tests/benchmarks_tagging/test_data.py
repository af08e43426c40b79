"""Sentences, their layers, and batches of both."""

import data
import numpy as np
import pytest
from benchmarks_tagging.tagging_data import write_bilm
from data import Batches
from data import Sentence

SENTENCES = [
    Sentence(["Ann", "Lee", "met", "Bob"], ["B-a", "I-a", "O", "B-a"]),
    Sentence(["he", "slept"], ["O", "O"]),
    Sentence(["Cy"], ["B-a"]),
] * 4


def test_batches_cover_all_sentences_in_each_epoch():
    layers = [np.full((2, len(s.words), 3), i) for i, s in enumerate(SENTENCES)]
    numbers = {"he": 2, "met": 3}
    batches = Batches(SENTENCES, layers, numbers, ["O", "B-a", "I-a"], 5, 1)
    found = []
    for chosen, inputs in batches.in_order():
        found += chosen.tolist()
        for row, i in enumerate(chosen):
            words = SENTENCES[i].words
            characters = inputs["characters"][inputs["places"][row, 0]]
            # After the mark of a word's begin; ids are bytes + 1.
            spelled = characters[1 : len(words[0]) + 1] - 1
            assert bytes(spelled.tolist()).decode() == words[0]
            expected = np.zeros_like(inputs["words"][row])
            expected[: len(words)] = [numbers.get(x.lower(), 1) for x in words]
            assert inputs["words"][row].tolist() == expected.tolist()
            layer = inputs["layer_1"][row]
            assert (layer == np.where(expected > 0, i, 0)[:, None]).all()
    assert sorted(found) == list(range(len(SENTENCES)))
    for _ in range(2):
        epoch = [tags.numpy() for _, tags in batches.dataset().take(3)]
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
