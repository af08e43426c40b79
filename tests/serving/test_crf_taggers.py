"""Taggers that end in a CRF, exported to tag raw sentences."""

import keras
import numpy as np
import pytest
from keras import ops
from serving.answers import padded
from small_models import make_shallow_elmo
from small_models import randomize

from keras_elmo import CRF
from keras_elmo import CRFDecoder
from keras_elmo import batch_to_ids
from keras_elmo import export_saved_model

NAMES = ["O", "B-per", "I-per", "B-loc", "I-loc"]
TEXTS = [
    "Zoë Lee met Bo in Zürich , New York and Århus .",
    "",
    "东京 was Bo 's , and THE Élysée Ann 's .",
    "Hello",
]
SENTENCES = [text.split() for text in TEXTS]
IDS = batch_to_ids(SENTENCES, 12)


def make_scores():
    """Builds a model from character ids to CRF scores, with random weights."""
    ids = keras.Input((None, 12), dtype="int32")
    lstm = keras.layers.LSTM(6, return_sequences=True)
    mask = ops.any(ops.not_equal(ids, 0), axis=-1)
    x = keras.layers.Bidirectional(lstm)(make_shallow_elmo()(ids), mask=mask)
    # All tags get potentials of both signs, so that many tags are decoded.
    dense = keras.layers.Dense(len(NAMES))
    potentials = dense(x)
    randomize(dense, 3.0)
    vectors = np.asarray(keras.Model(ids, potentials)(IDS))
    dense.bias.assign_sub(vectors[IDS.any(axis=-1)].mean(axis=0))
    scores = CRF(len(NAMES))(potentials, mask=mask)
    return keras.Model(ids, scores)


def with_tags(scores, scheme):
    decoder = CRFDecoder(tag_names=NAMES, scheme=scheme, name="tags")
    return keras.Model(scores.input, decoder(scores.output))


def names_of(tagger):
    """Returns the names of the tags in Python: one list per sentence."""
    tags = np.asarray(tagger(IDS))
    return [
        [NAMES[tag] for tag in row[: len(words)]]
        for row, words in zip(tags, SENTENCES)
    ]


def keeps_to_bio(names):
    return all(
        not tag.startswith("I-") or before[1:] == tag[1:]
        for row in names
        for before, tag in zip(["O", *row], row)
    )


def check(ask, folder, tagger):
    """Compares the served model with Keras, in all signatures."""
    expected = names_of(tagger)
    assert keeps_to_bio(expected)
    assert len({name for row in expected for name in row}) > 2
    default, tokens, ids, *empty = ask(
        folder,
        ("default", {"strings": TEXTS}),
        ("tokens", padded(SENTENCES)),
        ("character_ids", {"ids": IDS}),
        ("default", {"strings": [""]}),
        ("default", {"strings": []}),
    )
    for answer in (default, tokens, ids):
        np.testing.assert_array_equal(answer["tags"], tagger(IDS))
        found = answer["tags_labels"]
        assert found.shape == IDS.shape[:2]
        for row, names in zip(found, expected):
            assert [name.decode() for name in row if name] == names
            assert not any(row[len(names) :])
    for row, words in zip(default["tokens"], SENTENCES):
        assert [word.decode() for word in row if word] == words
    for number, answer in zip((1, 0), empty, strict=True):
        for name in ("tokens", "tags", "tags_labels"):
            assert answer[name].shape == (number, 0)


@pytest.mark.exhaustive
def test_a_decoder_keeps_to_the_scheme(ask, tmp_path):
    scores = make_scores()
    free, tagger = with_tags(scores, None), with_tags(scores, "BIO")
    assert not keeps_to_bio(names_of(free))  # Random scores do not.
    export_saved_model(tagger, tmp_path)
    check(ask, tmp_path, tagger)
