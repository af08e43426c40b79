"""SavedModels of ELMoForManyLangs models, which read Unicode characters."""

import json

import keras
import numpy as np
import pytest
from serving.answers import as_float32
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
    return ElmoLayer.from_many_langs(folder)


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
    assert "takes ids from 0 to" in answer


@pytest.mark.exhaustive
def test_a_tagger(ask, folder, tmp_path):
    """It can be trained and saved, and takes strings when it is served."""
    sentences = sentences_of(folder)[:2]
    elmo = ElmoLayer.from_many_langs(folder, trainable=True)
    ids = keras.Input((None, *elmo.token_encoder.token_shape), dtype="int32")
    scores = keras.layers.Dense(3, name="tags")(elmo(ids))
    model = keras.Model(ids, scores)
    x = ids_of(elmo, sentences)
    y = (x[..., 1] % 3).astype("int32")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss)
    before = [np.array(w) for w in elmo.get_weights()]
    model.fit(x, y, verbose=0)
    moved = [
        not np.array_equal(a, b) for a, b in zip(before, elmo.get_weights())
    ]
    assert all(moved)
    model.save(tmp_path / "tagger.keras")
    loaded = keras.saving.load_model(tmp_path / "tagger.keras")
    np.testing.assert_array_equal(loaded(x), model(x))
    names = ["A", "B", "C"]
    export_saved_model(loaded, tmp_path / "served", labels={"tags": names})
    strings = [" ".join(sentence) for sentence in sentences]
    (answer,) = ask(tmp_path / "served", ("default", {"strings": strings}))
    expected = as_float32(model(x))
    np.testing.assert_allclose(answer["tags"], expected, atol=1e-5)
    for i, sentence in enumerate(sentences):
        labels = [names[k].encode() for k in expected[i].argmax(axis=-1)]
        labels[len(sentence) :] = [b""] * (len(labels) - len(sentence))
        assert list(answer["tags_labels"][i]) == labels
        words = [word.encode() for word in sentence]
        assert list(answer["tokens"][i, : len(words)]) == words
