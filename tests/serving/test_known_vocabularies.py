"""Exported models whose words are looked up in a vocabulary."""

import numpy as np
import pytest
from serving.answers import check
from serving.answers import hub_answer
from serving.answers import padded
from small_models import make_shallow_elmo

from keras_elmo import ElmoLayer
from keras_elmo import export_saved_model

WORDS = ["the", "<S>", "cat", "<UNK>", "</S>", "é"]
SENTENCES = [["the", "dog", "é", "cat"], [], ["the", "x" * 30]]


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Loads the model, which reads characters or looks words up."""
    folder = tmp_path_factory.mktemp("bilm")
    elmo = make_shallow_elmo()
    files = folder / "options.json", folder / "weights.hdf5"
    elmo.save_to_bilm(*files)
    elmo.dump_token_embeddings(WORDS, folder / "rows.hdf5")

    def load(way=None):
        if way is None:
            return ElmoLayer.from_bilm(*files)
        return ElmoLayer.from_bilm(
            *files,
            token_embeddings=folder / "rows.hdf5",
            vocabulary=WORDS,
            unknown_words=way,
        )

    return load


@pytest.mark.exhaustive
def test_with_unk_for_other_words(ask, load, tmp_path):
    export_saved_model(load("unk"), tmp_path)
    ids = np.array([[1, 4, 6, 3], [0, 0, 0, 0], [1, 4, 0, 0]], "int32")
    answers = ask(
        tmp_path, ("tokens", padded(SENTENCES)), ("character_ids", {"ids": ids})
    )
    known = [
        [word if word in WORDS else "<UNK>" for word in sentence]
        for sentence in SENTENCES
    ]
    # The stored row equals the vector computed from the characters.
    for answer in answers:
        check(answer, hub_answer(load(), known))


@pytest.mark.exhaustive
def test_with_an_error_for_other_words(ask, load, tmp_path):
    export_saved_model(load("error"), tmp_path)
    known = [["the", "é", "cat"], ["the"]]
    good, bad = ask(
        tmp_path, ("tokens", padded(known)), ("tokens", padded(SENTENCES))
    )
    check(good, hub_answer(load(), known))
    assert isinstance(bad, str) and "dog" in bad
