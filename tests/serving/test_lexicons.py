"""SavedModels of ELMoForManyLangs models, which read Unicode characters."""

import json

import numpy as np
import pytest
from serving.answers import check
from serving.answers import hub_answer
from serving.answers import padded
from tiers import quick_first

from keras_elmo import ElmoLayer
from keras_elmo import export_saved_model

ODD = [
    [
        "<bos>",
        "a<bos>",
        "",
        "今天",
        "今\u3000天",
        "\N{GRINNING FACE}",
        "x" * 99,
    ],
    [b"\xff\xfeword", b"a\0b", b"\0", b"\xe4\xbb", "word" * 12 + "é", "好"],
]


@pytest.fixture(
    scope="module", params=quick_first(["char_and_word", "char_only"])
)
def folder(request, shared):
    return shared / "reference/elmo_for_many_langs" / request.param


@pytest.fixture(scope="module")
def elmo(folder):
    return ElmoLayer.from_preset(folder)


@pytest.fixture(scope="module")
def exported(elmo, tmp_path_factory):
    path = tmp_path_factory.mktemp("exported")
    export_saved_model(elmo, path)
    return path


def sentences_of(folder):
    return json.loads((folder / "sentences.json").read_text("utf-8"))


def ids_of(elmo, sentences):
    return elmo.token_encoder.make_vectorization().batch_to_ids(sentences)


@pytest.mark.exhaustive
def test_each_signature_gives_the_layers_vectors(ask, folder, elmo, exported):
    sentences = sentences_of(folder)
    answers = ask(
        exported,
        ("default", {"strings": [" ".join(s) for s in sentences]}),
        ("tokens", padded(sentences)),
        ("character_ids", {"ids": ids_of(elmo, sentences)}),
    )
    expected = hub_answer(elmo, sentences)
    for answer in answers:
        check(answer, expected)


@pytest.mark.exhaustive
def test_odd_words(ask, elmo, exported):
    """The answer is that of the layer on ids made in Python."""
    (answer,) = ask(exported, ("tokens", padded(ODD)))
    check(answer, hub_answer(elmo, ODD))


@pytest.mark.exhaustive
def test_requests_that_a_server_merged(ask, elmo, exported):
    """The shorter request is padded with the first number in it."""
    alone = [ids_of(elmo, [s]) for s in (["好", "今天", "a"], ["word"])]
    filled = np.full((1, 3, alone[1].shape[2]), alone[1].flat[0])
    filled[:, :1] = alone[1]
    merged = np.concatenate([alone[0], filled]).astype("int32")
    (answer,) = ask(exported, ("character_ids", {"ids": merged}))
    check(answer, hub_answer(elmo, [["好", "今天", "a"], ["word"]]))


@pytest.mark.exhaustive
def test_ids_out_of_range(ask, elmo, exported):
    ids = ids_of(elmo, [["a", "b"]])
    ids[0, 1, -1] = 51
    (answer,) = ask(exported, ("character_ids", {"ids": ids}))
    assert "takes integer ids from 0 to" in answer
