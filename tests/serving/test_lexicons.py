"""SavedModels of ELMoForManyLangs models, which read Unicode characters."""

import json

import pytest
from serving.answers import check
from serving.answers import hub_answer
from serving.answers import requests

from keras_elmo import ElmoLayer
from keras_elmo import export_saved_model

MERGED = [["好", "今天", "a"], ["word"]]


@pytest.mark.exhaustive
def test_answers_are_those_of_the_layer(ask, shared, tmp_path):
    folder = shared / "reference/elmo_for_many_langs/char_and_word"
    sentences = json.loads((folder / "sentences.json").read_text("utf-8"))
    elmo = ElmoLayer.from_preset(folder)
    export_saved_model(elmo, tmp_path)
    batch_to_ids = elmo.token_encoder.make_vectorization().batch_to_ids
    # A server that merges requests pads with the first number in them.
    merged = batch_to_ids(MERGED).astype("int32")
    merged[1, 1:] = merged[1, 0, 0]
    wrong = batch_to_ids([["a", "b"]])
    wrong[0, 1, -1] = 51
    *answers, both, refused = ask(
        tmp_path,
        *requests(sentences, batch_to_ids(sentences)),
        ("character_ids", {"ids": merged}),
        ("character_ids", {"ids": wrong}),
    )
    expected = hub_answer(elmo, sentences)
    for answer in answers:
        check(answer, expected)
    check(both, hub_answer(elmo, MERGED))
    assert "takes integer ids from 0 to" in refused
